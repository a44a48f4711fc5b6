/** The overview: the containers, what is being processed, and what has failed. */

import { request, serverAddress } from "../api.js";
import { load, runAction } from "../components/load.js";
import { notify } from "../components/notice.js";
import { chooseContainer } from "../components/navigation.js";
import {
  createBadge,
  createButton,
  createEmpty,
  createField,
  createHead,
  createPages,
  createSection,
  createTable,
} from "../components/parts.js";
import { createStatusBadge, explainFailure } from "../components/status.js";
import { create, debounce, replace } from "../dom.js";
import { createTime, formatCode, formatCount, formatNumber, nameDocument } from "../format.js";
import { goTo, linkTo } from "../router.js";
import { getReachedContainers, isContentKey } from "../session.js";

const POLL_MILLISECONDS = 2000;
const IDLE_MILLISECONDS = 15000;
const CONTAINERS_ON_PAGE = 25;
const SHOWN_FAILED = 20;
const SHOWN_IN_PROGRESS = 8;
const STAGES = ["queued", "extracting", "chunking", "embedding", "indexing"];

/** Shows the overview. */
export function showOverview(page, { signal }) {
  const containers = create("div", {});
  const processing = create("div", { "aria-live": "off" });
  const failed = create("div", {});
  const add = createButton(
    "Add to a container",
    () => chooseContainer((tag) => goTo(["containers", tag], { add: "text" })),
    { icon: "add", kind: "primary" },
  );

  replace(
    page,
    createHead("Overview", {
      text: "What Recollect holds, what it is working on, and what needs attention.",
      actions: [add],
    }),
    createSection("Containers", containers),
    createSection("In progress", processing),
    createSection("Failed documents", failed),
  );
  const showContainers = () =>
    load(containers, { label: "containers", signal }, () => fetchContainers(signal), createContainers);
  const showFailed = () =>
    load(
      failed,
      { label: "failed documents", signal },
      () => fetchFailed(signal),
      (answer) => createFailed(answer, showFailed),
    );
  showContainers();
  showFailed();
  watchProcessing(processing, signal, () => {
    showContainers();
    showFailed();
  });
}

/** Looks again and again, often while something is in progress. `onFinish` is called when all is done. */
async function watchProcessing(target, signal, onFinish) {
  let hadWork = false;
  while (!signal.aborted) {
    let hasWork = false;
    await load(
      target,
      { label: "documents in progress", signal },
      () => fetchProcessing(signal),
      (answer) => {
        hasWork = answer.totalCount > 0;
        return createProcessing(answer);
      },
    );
    if (hadWork && !hasWork && !signal.aborted) {
      onFinish();
    }
    hadWork = hasWork;
    await new Promise((resolve) => {
      setTimeout(resolve, hasWork ? POLL_MILLISECONDS : IDLE_MILLISECONDS);
    });
  }
}

/** A key for the content of a container may not list containers, but knows its own. */
async function fetchContainers(signal) {
  return isContentKey()
    ? getReachedContainers().map((containerTag) => ({ containerTag }))
    : request("GET", "/v3/container-tags/list", { signal });
}

function fetchProcessing(signal) {
  return request("GET", "/v3/documents/processing", {
    query: { view: "pending", limit: SHOWN_IN_PROGRESS },
    signal,
  });
}

function fetchFailed(signal) {
  return request("POST", "/v3/documents/list", {
    body: { status: "failed", limit: SHOWN_FAILED, sort: "updatedAt" },
    signal,
  });
}

function createContainers(tags) {
  if (tags.length === 0) {
    return createEmpty(
      "There is no container yet. Add a document; its container is made with it.",
      createExample(),
    );
  }
  const recent = [...tags].sort((a, b) => (b.lastActivityAt ?? "").localeCompare(a.lastActivityAt ?? ""));
  const list = create("div", {});
  let text = "";
  const show = (number) => {
    const found = recent.filter((tag) => tag.containerTag.toLowerCase().includes(text));
    const totalPages = Math.ceil(found.length / CONTAINERS_ON_PAGE);
    const shown = found.slice((number - 1) * CONTAINERS_ON_PAGE, number * CONTAINERS_ON_PAGE);
    replace(
      list,
      found.length
        ? createContainerTable(shown)
        : create("p", { class: "muted" }, "No container has this in its name."),
      createPages({ currentPage: number, totalPages }, show),
    );
  };
  const input = create("input", {
    type: "search",
    data: { search: "" },
    on: {
      input: debounce(() => {
        text = input.value.trim().toLowerCase();
        show(1);
      }),
    },
  });
  show(1);
  return [tags.length > 5 && createField("Find a container", input), list];
}

function createContainerTable(tags) {
  const rows = tags.map((tag) => [
    [
      create(
        "a",
        { class: "wrap", dir: "auto", href: linkTo(["containers", tag.containerTag]) },
        tag.containerTag,
      ),
      tag.name &&
        tag.name !== tag.containerTag &&
        create("span", { class: "muted wrap block", dir: "auto" }, tag.name),
      tag.mergeStatus && createBadge("being merged", "busy"),
    ],
    tag.documentCount === undefined ? "" : formatNumber(tag.documentCount),
    tag.memoryCount === undefined ? "" : formatNumber(tag.memoryCount),
    tag.lastActivityAt === undefined ? "" : createTime(tag.lastActivityAt),
  ]);
  return createTable("Containers", ["Container", "Documents", "Memories", "Last activity"], rows);
}

function createProcessing({ documents, totalCount }) {
  if (totalCount === 0) {
    return create("p", { class: "muted" }, "Nothing is being processed.");
  }
  const items = documents.map((item) =>
    create(
      "li",
      { class: "row" },
      create(
        "a",
        { class: "cut", dir: "auto", href: linkTo(["containers", item.containerTag, "documents", item.id]) },
        nameDocument(item),
      ),
      create("span", { class: "muted cut", dir: "auto" }, item.containerTag),
      item.stuck ? createBadge("no change for four hours", "bad") : createStatusBadge(item.status),
      create("progress", {
        max: STAGES.length,
        value: STAGES.indexOf(item.status) + 0.5,
        "aria-label": `${formatCode(item.status)}: step ${STAGES.indexOf(item.status) + 1} of ${STAGES.length}`,
      }),
    ),
  );
  return [
    create("p", { class: "muted" }, describeProgress(totalCount, documents.length)),
    create("ul", { class: "rows" }, items),
  ];
}

function describeProgress(total, shown) {
  const text = `${formatCount(total, "document")} in progress`;
  return shown < total ? `${text}, of which ${formatNumber(shown)} are shown.` : `${text}.`;
}

function createFailed({ memories, pagination }, reload) {
  if (memories.length === 0) {
    return create("p", { class: "muted" }, "No document has failed.");
  }
  const items = memories.map((item) => createFailedRow(item, reload));
  const rest = pagination.totalItems - memories.length;
  return [
    create("ul", { class: "rows" }, items),
    rest > 0 &&
      create(
        "p",
        { class: "muted" },
        `${formatCount(rest, "more document")}. Choose the status “failed” in a container to see them.`,
      ),
  ];
}

function createFailedRow(item, reload) {
  const errors = create("div", {});
  const retry = createButton(
    "Try again",
    async () => {
      const hasWorked = await runAction(retry, errors, () =>
        request("POST", `/v3/documents/${encodeURIComponent(item.id)}/retry`),
      );
      if (hasWorked) {
        notify("The document is processed again.");
        reload();
      }
    },
    { kind: "small", "aria-label": `Try again: ${nameDocument(item).slice(0, 60)}` },
  );
  return create(
    "li",
    { class: "row tall" },
    create(
      "div",
      { class: "row-text" },
      create(
        "a",
        { class: "wrap", dir: "auto", href: linkTo(["containers", item.containerTag, "documents", item.id]) },
        nameDocument(item),
      ),
      create("p", { class: "wrap" }, explainFailure(item)),
      create(
        "p",
        { class: "muted" },
        create("span", { dir: "auto" }, item.containerTag),
        " · ",
        createTime(item.updatedAt),
      ),
      errors,
    ),
    retry,
  );
}

function createExample() {
  return `curl ${serverAddress}/v3/documents \\
  -H 'Authorization: Bearer YOUR_KEY' -H 'content-type: application/json' \\
  -d '{"content": "Ada wrote the first program in 1843.", "containerTag": "demo"}'`;
}
