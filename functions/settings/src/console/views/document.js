/** A document: its text, its chunks, and the memories that came from it, each with its words in the text. */

import { request } from "../api.js";
import { confirmAction } from "../components/dialog.js";
import { createTabs, moveByArrows } from "../components/keyboard.js";
import { load, runAction } from "../components/load.js";
import { createMemoryActions, createMemoryFacts } from "../components/memory.js";
import { notify } from "../components/notice.js";
import { createButton, createHead, createPairs, createSection } from "../components/parts.js";
import { createSourceText } from "../components/source-text.js";
import { createStatusBadge, explainFailure, isInProgress } from "../components/status.js";
import { create, replace } from "../dom.js";
import { createTime, formatCode, formatCount, formatNumber, nameDocument } from "../format.js";
import { MOST_MARKS, markExcerpt, readQuery } from "../highlight.js";
import { goTo, linkTo } from "../router.js";

const POLL_MILLISECONDS = 1500;
const CHUNKS_TAB = 1;

/** Shows a document. */
export function showDocument(page, { parameters: { tag, id }, query, signal }) {
  const content = create("div", { class: "stack wide" });
  const show = () =>
    load(
      content,
      { label: "the document", signal },
      () => fetchDocument(tag, id, signal),
      (data) => createDocument(tag, data, query, show),
    );

  replace(page, createHead("Document"), content);
  show().then(() => watch(tag, id, content, show, signal));
}

/** Shows the document again when its processing has ended. */
async function watch(tag, id, content, show, signal) {
  while (!signal.aborted && content.querySelector("[data-in-progress]")) {
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MILLISECONDS);
    });
    if (!signal.aborted) {
      await show();
    }
  }
}

async function fetchDocument(tag, id, signal) {
  const path = `/v3/documents/${encodeURIComponent(id)}`;
  const query = { containerTag: tag };
  const item = await request("GET", path, { query, signal });
  const [withMemories, { chunks }] = await Promise.all([
    request("POST", "/v3/documents/documents/by-ids", { body: { ids: [item.id] }, signal }),
    request("GET", `${path}/chunks`, { query, signal }),
  ]);
  return { item, chunks, memories: withMemories.documents[0]?.memoryEntries ?? [] };
}

function createDocument(tag, { item, chunks, memories }, query, reload) {
  const wanted = readQuery(query.q);
  const lists = {
    memories: createMemoryList(tag, item.id, memories, reload),
    chunks: createChunkList(chunks, wanted),
  };
  const ranges = [
    ...memories.flatMap((memory) =>
      memory.sources
        .filter((source) => source.documentId === item.id)
        .map((source) => ({ ...source, key: memory.id, isMark: true })),
    ),
    ...chunks.map((chunk) => ({ start: chunk.metadata.start, end: chunk.metadata.end, key: chunk.id })),
  ];
  const text = createSourceText(item.content ?? "", ranges, {
    onPoint: (keys) => lists.memories.mark(keys),
    onChoose: (keys) => {
      text.highlight(keys);
      lists.memories.focus(keys[0]);
    },
    wanted,
    nearKey: query.memory ?? query.chunk,
  });
  lists.memories.onPoint(text.highlight);
  lists.chunks.onPoint(text.highlight);

  const tabs = createTabs(
    "Parts of the document",
    [
      { label: `Memories (${formatNumber(memories.length)})`, create: () => lists.memories.element },
      { label: `Chunks (${formatNumber(chunks.length)})`, create: () => lists.chunks.element },
      { label: "Details", create: () => createDetails(item) },
    ],
    { chosen: query.chunk ? CHUNKS_TAB : 0 },
  );
  if (query.memory) {
    queueMicrotask(() => {
      text.highlight([query.memory], { isScrolled: true });
      lists.memories.mark([query.memory]);
    });
  } else if (query.chunk) {
    queueMicrotask(() => {
      text.highlight([query.chunk], { isScrolled: true });
      lists.chunks.mark(query.chunk);
    });
  }
  return [
    createDocumentHead(tag, item, reload),
    create(
      "div",
      { class: "document" },
      createSection(
        "Text",
        query.q && describeWords(tag, query.q, text.wordCount),
        item.content
          ? text.element
          : create(
              "p",
              { class: "muted" },
              isInProgress(item.status) ? "The text is still being extracted." : "This document has no text.",
            ),
      ),
      create("div", {}, tabs),
    ),
  ];
}

function describeWords(tag, query, count) {
  const places =
    count === MOST_MARKS ? `the first ${formatNumber(count)} places` : formatCount(count, "place");
  return create(
    "p",
    { class: "muted wrap" },
    "Words of ",
    create("a", { dir: "auto", href: linkTo(["containers", tag, "search"], { q: query }) }, query),
    count > 0 ? ` are marked in ${places}.` : " are not in this text.",
  );
}

function createDocumentHead(tag, item, reload) {
  const errors = create("div", {});
  const path = `/v3/documents/${encodeURIComponent(item.id)}`;
  const retry = createButton("Process again", async () => {
    if (await runAction(retry, errors, () => request("POST", `${path}/retry`))) {
      notify("The document is processed again.");
      reload();
    }
  });
  const remove = createButton(
    "Delete",
    () =>
      confirmAction({
        title: "Delete this document?",
        text: `“${nameDocument(item).slice(0, 200)}” is deleted with its chunks, and with the memories that come from no other document. This cannot be undone.`,
        label: "Delete the document",
        action: async () => {
          await request("DELETE", path, { query: { containerTag: tag } });
          notify("The document is deleted.");
          goTo(["containers", tag]);
        },
      }),
    { kind: "danger" },
  );
  document.title = `${nameDocument(item).slice(0, 60)} · Recollect`;
  replaceHead(
    create(
      "header",
      { class: "head" },
      create(
        "div",
        { class: "head-text" },
        create("a", { class: "cut", dir: "auto", href: linkTo(["containers", tag]) }, `Documents of ${tag}`),
        create("h1", { class: "clamp", dir: "auto", tabindex: "-1" }, nameDocument(item)),
        create(
          "div",
          { class: "badges" },
          createStatusBadge(item.status),
          create("span", { class: "muted" }, formatCode(item.type), " · ", createTime(item.updatedAt)),
        ),
      ),
      create(
        "div",
        { class: "actions" },
        item.status === "failed" && retry,
        createFileButton(item, errors),
        remove,
      ),
    ),
  );
  return [
    errors,
    item.status === "failed" &&
      create("div", { class: "error-box" }, create("p", { class: "wrap" }, explainFailure(item))),
    isInProgress(item.status) &&
      create(
        "p",
        { role: "status", data: { inProgress: "" } },
        `In progress: ${formatCode(item.status)}. This page follows it.`,
      ),
    item.supersededBy &&
      create(
        "p",
        {},
        "Another document has replaced this one. ",
        create("a", { href: linkTo(["containers", tag, "documents", item.supersededBy]) }, "Open it"),
      ),
  ];
}

/** The head stands before the content. It keeps the focus if its title had it. */
function replaceHead(head) {
  const former = document.querySelector("main .head");
  const hadFocus = former.contains(document.activeElement);
  former.replaceWith(head);
  if (hadFocus) {
    head.querySelector("h1").focus({ preventScroll: true });
  }
}

function createFileButton(item, errors) {
  if (item.type === "text" || item.type === "webpage") {
    return null;
  }
  const button = createButton("Get the original file", () =>
    runAction(button, errors, async () => {
      const { url } = await request("GET", `/v3/documents/${encodeURIComponent(item.id)}/file-url`);
      const link = createLink(url, "Open the original file");
      button.replaceWith(link);
      link.focus();
    }),
  );
  return button;
}

function createMemoryList(tag, documentId, memories, reload) {
  let point = () => {};
  const rows = new Map(
    memories.map((memory) => {
      const show = (isScrolled) => () => point([memory.id], { isScrolled });
      const leave = () => point([]);
      const words = create(
        "button",
        {
          type: "button",
          class: "words",
          dir: "auto",
          on: { focus: show(true), blur: leave, click: show(true) },
        },
        memory.memory,
      );
      const row = create(
        "li",
        { class: "memory", on: { mouseenter: show(true), mouseleave: leave } },
        words,
        createMemoryActions(tag, memory, reload),
        createMemoryFacts(memory),
        memory.sources.length === 0 && create("p", { class: "muted" }, "It has no place in this text."),
      );
      return [memory.id, row];
    }),
  );
  const list = create("ul", { class: "memories" }, [...rows.values()]);
  moveByArrows(list, ".words");

  const mark = (keys) =>
    rows.forEach((row, key) => {
      row.classList.toggle("active", keys.includes(key));
      if (key === keys[0]) {
        row.scrollIntoView({ block: "nearest" });
      }
    });
  const empty = create(
    "p",
    { class: "muted" },
    "No memory came from this document. Documents for search only have none; nor do texts that state nothing about anybody.",
  );
  return {
    element: create("div", {}, memories.length ? list : empty),
    mark,
    focus: (key) => rows.get(key)?.querySelector(".words").focus(),
    onPoint: (action) => {
      point = action;
    },
  };
}

function createChunkList(chunks, wanted) {
  let point = () => {};
  const createRow = (chunk) => {
    const show = () => point([chunk.id], { isScrolled: true });
    const leave = () => point([]);
    const length = chunk.metadata.end - chunk.metadata.start;
    return create(
      "li",
      { class: "memory", on: { mouseenter: show, mouseleave: leave } },
      create(
        "button",
        { type: "button", class: "words", on: { focus: show, blur: leave, click: show } },
        `Chunk ${chunk.position + 1}`,
      ),
      create(
        "p",
        { class: "muted" },
        `${formatCount(length, "character")}, from ${formatNumber(chunk.metadata.start)} to ${formatNumber(chunk.metadata.end)}`,
      ),
      chunk.metadata.headings.length > 0 &&
        create("p", { class: "muted wrap", dir: "auto" }, chunk.metadata.headings.join(" › ")),
      create("p", { class: "clamp wrap", dir: "auto" }, markExcerpt(chunk.content, wanted)),
    );
  };
  const rows = new Map(chunks.map((chunk) => [chunk.id, createRow(chunk)]));
  const list = create("ul", { class: "memories" }, [...rows.values()]);
  moveByArrows(list, ".words");
  return {
    element: create(
      "div",
      {},
      chunks.length
        ? list
        : create("p", { class: "muted" }, "There are no chunks before the document is done."),
    ),
    mark: (key) => {
      rows.get(key)?.classList.add("active");
      rows.get(key)?.scrollIntoView({ block: "nearest" });
    },
    onPoint: (action) => {
      point = action;
    },
  };
}

function createDetails(item) {
  const extraction = item.memoryExtraction;
  const pairs = createPairs([
    ["Id", create("code", {}, item.id)],
    ["Own id", item.customId],
    ["Address", item.url && createLink(item.url, item.url)],
    ["Path", item.filepath],
    [
      "Connection",
      item.connectionId &&
        create("a", { href: linkTo(["connections", item.connectionId]) }, item.connectionId),
    ],
    ["Summary", item.summary],
    ["Use", item.taskType === "superrag" ? "Search only" : "Memories and search"],
    ["Trust", item.trust && formatCode(item.trust)],
    ["Origin", item.origin && [formatCode(item.origin.type), item.origin.name].filter(Boolean).join(": ")],
    [
      "Extraction",
      extraction &&
        `${formatCode(extraction.extractor)}: ${formatCount(extraction.count, "statement")}${extraction.reason ? `. ${extraction.reason}` : ""}`,
    ],
    ["Revision", formatNumber(item.latestRevision)],
    ["Added", createTime(item.createdAt)],
    ["Changed", createTime(item.updatedAt)],
  ]);
  const metadata = Object.entries(item.metadata ?? {}).map(([key, value]) => [key, String(value)]);
  return create("div", {}, pairs, metadata.length > 0 && createSection("Metadata", createPairs(metadata)));
}

/** Only addresses of the web become links. */
function createLink(address, text) {
  return /^https?:\/\//i.test(address)
    ? create("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: "wrap" }, text)
    : text;
}
