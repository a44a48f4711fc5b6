/** The dialog that adds texts, web addresses and files to a container. */

import { createIdempotencyKey, request, uploadFile } from "../api.js";
import { create, replace, uniqueId } from "../dom.js";
import { formatBytes } from "../format.js";
import { linkTo } from "../router.js";
import { openDialog } from "./dialog.js";
import { createTabs } from "./keyboard.js";
import { createErrorBox, onSubmit } from "./load.js";
import { notify } from "./notice.js";
import { createBadge, createButton, createField, createSelect } from "./parts.js";

const TABS = ["text", "address", "files"];

/** What a person has typed. It stays when the dialog is closed, until it has been added. */
const draft = { text: "", address: "" };

/**
 * Opens the dialog at a tab: "text", "address" or "files". `onAdd` is called after each document that the API has
 * accepted. `files` are uploaded at once.
 */
export function openAddDialog(tag, { tab = "text", files = [], onAdd = () => {} } = {}) {
  openDialog({
    title: `Add to ${tag}`,
    isWide: true,
    content: (close) =>
      createTabs(
        "What is added",
        [
          { label: "Text", create: () => createTextForm(tag, close, onAdd) },
          { label: "Web address", create: () => createAddressForm(tag, close, onAdd) },
          { label: "Files", create: () => createFileForm(tag, files, onAdd) },
        ],
        { chosen: Math.max(TABS.indexOf(tab), 0) },
      ),
  });
}

function createTextForm(tag, close, onAdd) {
  const input = create("textarea", {
    rows: 10,
    required: true,
    autofocus: true,
    dir: "auto",
    value: draft.text,
    name: "text",
  });
  input.addEventListener("input", () => {
    draft.text = input.value;
  });
  const field = createField(
    "Text",
    input,
    "Plain text, Markdown or HTML. The first heading becomes the title.",
  );
  return createContentForm(tag, { kind: "text", field, input, button: "Add the text", close, onAdd });
}

function createAddressForm(tag, close, onAdd) {
  const input = create("input", {
    type: "url",
    required: true,
    autofocus: true,
    placeholder: "https://",
    value: draft.address,
    name: "address",
  });
  input.addEventListener("input", () => {
    draft.address = input.value;
  });
  const field = createField(
    "Web address",
    input,
    "One page on the public internet. A connection reads a whole website.",
  );
  return createContentForm(tag, { kind: "address", field, input, button: "Add the page", close, onAdd });
}

function createContentForm(tag, { kind, field, input, button, close, onAdd }) {
  const options = createOptions();
  const errors = create("div", {});
  const send = create("button", { class: "button primary" }, button);
  let sent = { body: null, key: null };
  const add = async () => {
    const body = { content: input.value, containerTag: tag, ...options.read() };
    if (sent.body !== JSON.stringify(body)) {
      sent = { body: JSON.stringify(body), key: createIdempotencyKey() };
    }
    const added = await request("POST", "/v3/documents", { body, headers: { "idempotency-key": sent.key } });
    draft[kind] = "";
    close();
    announceAdded(tag, added);
    onAdd(added);
  };
  return create(
    "form",
    { class: "stack", on: { submit: onSubmit(send, errors, add) } },
    field,
    options.element,
    errors,
    create("div", { class: "actions" }, send),
  );
}

function announceAdded(tag, { id, status }) {
  notify(status === "done" ? "The document is there." : "The document is added and is being processed.", {
    label: "Open it",
    action: () => {
      location.hash = linkTo(["containers", tag, "documents", id]);
    },
  });
}

function createOptions() {
  const date = create("input", { type: "date", name: "date" });
  const author = createSelect(
    [
      ["", "Decided by its form"],
      ["user", "The user"],
      ["external", "Somebody else"],
    ],
    "",
    undefined,
    { name: "provenance" },
  );
  const task = createSelect(
    [
      ["", "Memories and search"],
      ["superrag", "Search only"],
    ],
    "",
    undefined,
    { name: "task" },
  );
  const element = create(
    "details",
    {},
    create("summary", {}, "Date, author and use"),
    create(
      "div",
      { class: "fields" },
      createField("Date of the content", date, "Words such as “yesterday” count from it."),
      createField("Written by", author, "Only the user's own words change what is believed."),
      createField("Used for", task),
    ),
  );
  const read = () => ({
    ...(date.value && { documentDate: date.value }),
    ...(author.value && { provenance: author.value }),
    ...(task.value && { taskType: task.value }),
  });
  return { element, read };
}

function createFileForm(tag, files, onAdd) {
  const list = create("ul", { class: "rows", "aria-label": "Files" });
  const options = createOptions();
  const input = create("input", {
    type: "file",
    multiple: true,
    class: "hidden",
    id: uniqueId("files"),
    autofocus: true,
  });
  const zone = create(
    "div",
    { class: "drop" },
    input,
    create("label", { htmlFor: input.id, class: "button" }, "Choose files"),
    create(
      "p",
      { class: "muted" },
      "or drop them here. Up to 50 MB each: text, PDF, office files, images and more.",
    ),
  );
  const queue = createQueue();
  const take = (chosen) => {
    for (const file of chosen) {
      const row = createUpload(tag, file, { containerTag: tag, ...options.read() }, onAdd);
      list.append(row.element);
      queue(row.start);
    }
    list.hidden = list.children.length === 0;
  };
  input.addEventListener("change", () => {
    take(input.files);
    input.value = "";
  });
  acceptDrops(zone, take);
  take(files);
  return create("div", { class: "stack" }, options.element, zone, list);
}

/** Lets files be dropped on an element, and calls `onFiles` with them. */
export function acceptDrops(element, onFiles) {
  const isFiles = (event) => event.dataTransfer?.types.includes("Files");
  element.addEventListener("dragover", (event) => {
    if (isFiles(event)) {
      event.preventDefault();
      element.classList.add("dropping");
    }
  });
  element.addEventListener("dragleave", () => element.classList.remove("dropping"));
  element.addEventListener("drop", (event) => {
    element.classList.remove("dropping");
    if (isFiles(event)) {
      event.preventDefault();
      event.stopPropagation();
      onFiles([...event.dataTransfer.files]);
    }
  });
}

/** Returns a function that runs actions one after the other. */
function createQueue() {
  let last = Promise.resolve();
  return (action) => {
    last = last.then(action);
  };
}

function createUpload(tag, file, fields, onAdd) {
  const state = create("span", {}, "Waiting");
  const progress = create("progress", { max: 1, value: 0, "aria-label": `Sent of ${file.name}` });
  const errors = create("div", {});
  const key = createIdempotencyKey();
  const element = create(
    "li",
    { class: "row tall" },
    create(
      "div",
      { class: "row-text" },
      create("span", { class: "wrap", dir: "auto" }, file.name),
      progress,
      errors,
    ),
    create("div", { class: "row-text" }, create("span", { class: "muted" }, formatBytes(file.size)), state),
  );

  const start = async () => {
    replace(state, "Sending");
    replace(errors);
    try {
      const onProgress = (share) => {
        progress.value = share;
      };
      const added = await uploadFile(file, fields, { key, onProgress });
      progress.value = 1;
      replace(
        state,
        create(
          "a",
          { href: linkTo(["containers", tag, "documents", added.id]) },
          createBadge("Added", "good"),
        ),
      );
      onAdd(added);
    } catch (error) {
      replace(state, createButton("Send again", start, { kind: "small" }));
      replace(errors, createErrorBox(error));
    }
  };
  return { element, start };
}
