/** The documents of a container: a list to filter and search, and ways to add to it. */

import { request, requestPages, serverAddress } from "../api.js";
import { acceptDrops, openAddDialog } from "../components/add-documents.js";
import { confirmAction } from "../components/dialog.js";
import { moveByArrows } from "../components/keyboard.js";
import { load } from "../components/load.js";
import { notify } from "../components/notice.js";
import {
  createButton,
  createEmpty,
  createField,
  createHead,
  createPages,
  createSelect,
  createTable,
} from "../components/parts.js";
import { createSelection } from "../components/selection.js";
import { listNames } from "../components/selection-bar.js";
import { createStatusBadge, isInProgress, STATUSES, TYPES } from "../components/status.js";
import { create, debounce, replace } from "../dom.js";
import { createTime, formatCode, formatCount, formatNumber, isNameless, nameDocument } from "../format.js";
import { goTo, linkTo, rememberQuery } from "../router.js";
import { isAdministrator, isContentKey } from "../session.js";

const ON_PAGE = 50;
const MOST_ON_PAGE = 1100;
const MOST_DELETED = 100;
const POLL_MILLISECONDS = 2500;
const SORTS = [
  ["createdAt desc", "Newest first"],
  ["createdAt asc", "Oldest first"],
  ["updatedAt desc", "Last changed first"],
  ["updatedAt asc", "Last changed last"],
];

/** The texts of documents without a name, by their ids and the times of their last changes. */
const knownTexts = new Map();

/** Shows the documents of a container. */
export function showContainer(page, { parameters: { tag }, query, signal }) {
  const { add, ...shown } = query;
  const facts = create("div", {});
  const showFacts = () =>
    load(
      facts,
      { label: "the container", signal },
      () => fetchFacts(tag, signal),
      (answer) => createFacts(tag, answer),
    );
  const list = createDocumentList(tag, shown, signal, showFacts);
  const openAdd = (tab, files) => openAddDialog(tag, { tab, files, onAdd: list.reload });
  const actions = [
    createButton("Add text", () => openAdd("text"), { icon: "add", kind: "primary" }),
    createButton("Add a web address", () => openAdd("address")),
    createButton("Add files", () => openAdd("files")),
  ];

  replace(
    page,
    createHead(tag, {
      text: "Documents of this container. Files can be dropped anywhere on this page.",
      actions,
    }),
    facts,
    list.element,
  );
  acceptDrops(page, (files) => openAdd("files", files));
  if (add) {
    rememberQuery(["containers", tag], shown);
    openAdd(add);
  }
}

/** A key for content may not see them. */
async function fetchFacts(tag, signal) {
  return isContentKey() ? null : request("GET", `/v3/container-tags/${encodeURIComponent(tag)}`, { signal });
}

function createFacts(tag, facts) {
  if (!facts) {
    return null;
  }
  const remove = createButton(
    "Delete the container",
    () =>
      confirmAction({
        title: `Delete ${tag}?`,
        text: `All documents and memories of ${tag} are deleted: ${formatCount(facts.documentCount, "document")} and ${formatCount(facts.memoryCount, "memory", "memories")}. This cannot be undone.`,
        label: "Delete everything in it",
        action: async () => {
          await request("DELETE", `/v3/container-tags/${encodeURIComponent(tag)}`);
          notify("The container is deleted.");
          sessionStorage.removeItem("recollect-container");
          goTo([]);
        },
      }),
    { kind: "small" },
  );
  return create(
    "div",
    { class: "bar muted" },
    create("span", {}, formatCount(facts.documentCount, "document")),
    create("span", {}, formatCount(facts.memoryCount, "memory", "memories")),
    create("span", {}, "Last activity ", createTime(facts.lastActivityAt)),
    isAdministrator() && remove,
  );
}

/** `onFound` is called when the container turns out to have documents; one that does not exist yet has none. */
function createDocumentList(tag, query, signal, onFound) {
  const choice = {
    status: "",
    type: "",
    sort: SORTS[0][0],
    text: "",
    page: 1,
    ...query,
    page: Number(query.page) || 1,
  };
  const results = create("div", {});
  const selection = createSelection({
    noun: "document",
    actions: listActions(tag),
    findAll: (options) => findMatching(options),
    onDone: () => show(),
  });
  let timer = 0;

  const show = () =>
    load(
      results,
      { label: "documents", signal },
      async () => {
        const answer = await fetchPage(tag, choice, choice.page, ON_PAGE, signal);
        await addTexts(tag, answer.documents, signal);
        watch(answer.documents);
        if (answer.pagination.totalItems > 0) {
          onFound();
        }
        return answer;
      },
      (answer) => createResults(tag, choice, answer, selection, goToPage),
    );

  /** Finds all documents that match the filters, for the selection. */
  const findMatching = async ({ onProgress, signal: stop }) => {
    const documents = await requestPages(
      (number) => fetchPage(tag, choice, number, MOST_ON_PAGE, AbortSignal.any([signal, stop])),
      { onPage: (items, { totalItems }) => onProgress(items.length / totalItems) },
    );
    return documents.map(describeItem);
  };
  const watch = (documents) => {
    clearTimeout(timer);
    if (documents.some((item) => isInProgress(item.status)) && !signal.aborted) {
      timer = setTimeout(show, POLL_MILLISECONDS);
    }
  };
  const goToPage = (number) => {
    choice.page = number;
    remember();
    show();
    results.scrollIntoView({ block: "start" });
  };
  const remember = () =>
    rememberQuery(["containers", tag], {
      ...choice,
      page: choice.page > 1 ? choice.page : "",
      sort: choice.sort === SORTS[0][0] ? "" : choice.sort,
    });
  const change = (name) => (value) => {
    choice[name] = value;
    choice.page = 1;
    remember();
    show();
  };

  show();
  const element = create(
    "section",
    { class: "section", "aria-label": "Documents" },
    createFilters(choice, change),
    selection.element,
    results,
  );
  return { element, reload: show };
}

function createFilters(choice, change) {
  const search = create("input", {
    type: "search",
    value: choice.text,
    data: { search: "" },
    on: { input: debounce(() => change("text")(search.value.trim())) },
  });
  const statuses = [["", "Every status"], ...STATUSES.map((status) => [status, formatCode(status)])];
  const types = [["", "Every type"], ...TYPES.map((type) => [type, formatCode(type)])];
  return create(
    "div",
    { class: "fields", role: "search" },
    createField("Search in titles", search),
    createField("Status", createSelect(statuses, choice.status, change("status"))),
    createField("Type", createSelect(types, choice.type, change("type"))),
    createField("Order", createSelect(SORTS, choice.sort, change("sort"))),
  );
}

async function fetchPage(tag, { status, type, text, sort }, number, limit, signal) {
  const [field, order] = sort.split(" ");
  const filters = { ...(status && { status }), ...(type && { type }), ...(text && { title: text }) };
  const body = { containerTag: tag, limit, page: number, sort: field, order, ...filters };
  const { memories, pagination } = await request("POST", "/v3/documents/list", { body, signal });
  return { documents: memories, entries: memories, pagination };
}

/** Adds their texts to documents without a name, which are shown by the beginning of it. Each text is read once. */
async function addTexts(tag, documents, signal) {
  const nameless = documents.filter(isNameless);
  await Promise.all(
    nameless.map(async (item) => {
      const version = `${item.id} ${item.updatedAt}`;
      if (!knownTexts.has(version)) {
        const path = `/v3/documents/${encodeURIComponent(item.id)}`;
        // A document that is deleted meanwhile keeps no name.
        const found = await request("GET", path, { query: { containerTag: tag }, signal }).catch(() => null);
        knownTexts.set(version, found?.content);
      }
      item.content = knownTexts.get(version);
    }),
  );
}

/** Returns the actions for several documents. */
function listActions(tag) {
  const remove = {
    label: () => "Delete",
    question: (items) => ({
      title: `Delete ${formatCount(items.length, "document")}?`,
      text: `${listNames(items)}: deleted with their chunks, and with the memories that come from no other document. This cannot be undone.`,
      label: `Delete ${formatCount(items.length, "document")}`,
    }),
    doing: "Deleting",
    done: "deleted",
    size: MOST_DELETED,
    // The answer names the ids that were not found. These documents are gone, as they should be.
    send: (items) =>
      request("DELETE", "/v3/documents/bulk", {
        body: { containerTag: tag, ids: items.map(({ id }) => id) },
      }),
  };
  const retry = {
    label: (count) => `Process ${formatNumber(count)} failed again`,
    accepts: ({ status }) => status === "failed",
    doing: "Processing again",
    done: "processed again",
    size: 1,
    send: ([{ id }]) => request("POST", `/v3/documents/${encodeURIComponent(id)}/retry`),
  };
  return [retry, remove];
}

function describeItem(item) {
  return { id: item.id, name: nameDocument(item), status: item.status };
}

function createResults(tag, choice, { documents, pagination }, selection, goToPage) {
  const selected = documents.map(describeItem);
  selection.show(selected, pagination.totalItems);
  if (pagination.totalItems === 0) {
    return choice.text || choice.type || choice.status
      ? create(
          "p",
          { class: "muted", role: "status" },
          "No document matches. Change the filters to see others.",
        )
      : createEmpty(
          "This container has no document yet. Add a text, a web address or files above, or with this command.",
          createExample(tag),
        );
  }
  const rows = documents.map((item, index) => [
    create(
      "div",
      { class: "ticked" },
      selection.createBox(selected[index]),
      create(
        "a",
        { class: "wrap clamp", dir: "auto", href: linkTo(["containers", tag, "documents", item.id]) },
        nameDocument(item),
      ),
    ),
    formatCode(item.type),
    createStatusBadge(item.status),
    createTime(choice.sort.startsWith("updated") ? item.updatedAt : item.createdAt),
  ]);
  const table = createTable(
    "Documents",
    ["Title or beginning", "Type", "Status", choice.sort.startsWith("updated") ? "Changed" : "Added"],
    rows,
  );
  moveByArrows(table, "tbody a");
  moveByArrows(table, "tbody input");
  return [
    create("p", { class: "muted", role: "status" }, formatCount(pagination.totalItems, "document")),
    table,
    createPages(pagination, goToPage),
  ];
}

function createExample(tag) {
  const body = JSON.stringify({
    content: "Ada wrote the first program in 1843.",
    containerTag: tag,
  }).replaceAll("'", "'\\''");
  return `curl ${serverAddress}/v3/documents \\\n  -H 'Authorization: Bearer YOUR_KEY' -H 'content-type: application/json' \\\n  -d '${body}'`;
}
