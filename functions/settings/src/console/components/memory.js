/** A memory: its words, what is known about it, and the forms to correct and forget it. */

import { request } from "../api.js";
import { create } from "../dom.js";
import { createTime, formatCode, formatDay, formatPercent } from "../format.js";
import { openDialog } from "./dialog.js";
import { onSubmit } from "./load.js";
import { notify } from "./notice.js";
import { createBadge, createButton, createField } from "./parts.js";

const TRUST = {
  client: "written by a client",
  user: "said by the user",
  assistant: "said by an assistant",
  document: "from the user's own text",
  external: "from somebody else",
};

/** Creates what is known about a memory: its kind, its state, when it was stated and by whom. */
export function createMemoryFacts(memory, ...others) {
  return create("div", { class: "facts" }, createBadges(memory), createLine(memory), others);
}

/** Creates the buttons that correct and forget a memory. `onChange` is called when that is done. */
export function createMemoryActions(tag, memory, onChange) {
  if (memory.isForgotten || memory.isLatest === false) {
    return null;
  }
  const name = memory.memory.slice(0, 80);
  return create(
    "div",
    { class: "actions memory-actions" },
    createButton("Correct", (event) => openCorrection(tag, memory, event.currentTarget, onChange), {
      kind: "small",
      "aria-label": `Correct: ${name}`,
    }),
    createButton("Forget", () => askToForget(tag, memory, onChange), {
      kind: "small",
      "aria-label": `Forget: ${name}`,
    }),
  );
}

/** Puts a form in the place of the buttons, so that the memory is corrected where it stands. */
function openCorrection(tag, memory, button, onChange) {
  const place = button.parentElement;
  const errors = create("div", {});
  const input = create("textarea", {
    required: true,
    maxlength: 10000,
    dir: "auto",
    value: memory.memory,
    rows: 2,
  });
  const save = create("button", { class: "button primary small" }, "Save as a new version");
  const close = () => {
    form.replaceWith(place);
    button.focus();
  };
  const correct = async () => {
    await request("PATCH", "/v4/memories", {
      body: { containerTag: tag, id: memory.id, newContent: input.value },
    });
    notify("The memory is corrected. The old words stay in its history.");
    onChange();
  };
  const form = create(
    "form",
    {
      class: "stack correction",
      on: {
        submit: onSubmit(save, errors, correct),
        keydown: (event) => event.key === "Escape" && close(),
      },
    },
    createField("Corrected memory", input),
    errors,
    create("div", { class: "actions" }, save, createButton("Cancel", close, { kind: "small" })),
  );
  place.replaceWith(form);
  input.focus();
}

function askToForget(tag, memory, onChange) {
  openDialog({
    title: "Forget this memory?",
    content: (close) => {
      const errors = create("div", {});
      const reason = create("input", { maxlength: 1000, autofocus: true, dir: "auto" });
      const confirm = create("button", { class: "button danger" }, "Forget it");
      const forget = async () => {
        const body = { containerTag: tag, id: memory.id, ...(reason.value && { reason: reason.value }) };
        await request("DELETE", "/v4/memories", { body });
        close();
        notify("The memory is forgotten.");
        onChange();
      };
      return create(
        "form",
        { class: "stack", on: { submit: onSubmit(confirm, errors, forget) } },
        create("blockquote", { class: "wrap", dir: "auto" }, memory.memory),
        create("p", {}, "No search finds it any more. Its documents stay, and do not bring it back."),
        createField("Reason (optional)", reason),
        errors,
        create("div", { class: "actions" }, createButton("Cancel", close), confirm),
      );
    },
  });
}

function createBadges(memory) {
  return create(
    "div",
    { class: "badges" },
    memory.isForgotten && createBadge("Forgotten", "bad", memory.forgetReason),
    memory.isLatest === false && createBadge("Replaced", "busy"),
    memory.isInference && createBadge("Conclusion", "accent"),
    memory.reviewStatus && createBadge(formatCode(memory.reviewStatus), "good"),
    memory.contradicts?.length > 0 && createBadge("Contradicted", "busy"),
    memory.kind && createBadge(formatCode(memory.kind)),
    memory.version > 1 && createBadge(`Version ${memory.version}`),
  );
}

function createLine(memory) {
  const said = memory.temporalContext?.documentDate ?? memory.createdAt;
  const parts = [
    createTime(said, formatDay),
    memory.speaker && create("span", { dir: "auto" }, `by ${memory.speaker}`),
    TRUST[memory.trust],
    memory.origin?.name && create("span", { dir: "auto" }, memory.origin.name),
    memory.confidence !== undefined && `${formatPercent(memory.confidence, 0)} certain`,
    memory.eventDate && createEvent(memory.eventDate),
  ].filter(Boolean);
  return create(
    "p",
    { class: "muted wrap dots" },
    parts.map((part) => create("span", {}, part)),
  );
}

function createEvent({ start, end }) {
  const [first, last] = [formatDay(start), formatDay(end)];
  return first === last ? `on ${first}` : `from ${first} to ${last}`;
}
