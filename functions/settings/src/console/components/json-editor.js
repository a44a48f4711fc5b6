/** An editor for JSON. It says what is wrong, and in which line, while a person types. */

import { create, debounce, replace, uniqueId } from "../dom.js";
import { formatNumber } from "../format.js";
import { findJsonError } from "../json-check.js";
import { createButton, createField } from "./parts.js";

const INDENT = "  ";
const HELP =
  "Tab indents. To leave the field with Tab, press Escape first. Ctrl or Cmd and Enter send the request.";

/**
 * Creates the editor. `onChange` is called with each change. `check` tells whether its text is JSON or empty, and puts
 * the focus into it if it is neither.
 */
export function createJsonEditor(label, text, onChange) {
  const problem = create("p", { class: "problem", role: "status", id: uniqueId("problem") });
  const input = create("textarea", {
    class: "mono",
    rows: 10,
    spellcheck: "false",
    autocapitalize: "off",
    value: text,
    name: "body",
  });
  const showProblem = () => {
    const error = input.value.trim() ? findJsonError(input.value) : null;
    input.setAttribute("aria-invalid", String(error !== null));
    replace(
      problem,
      error && `Line ${formatNumber(error.line)}, column ${formatNumber(error.column)}: ${error.message}.`,
    );
    return error;
  };
  const showSoon = debounce(showProblem);
  const setText = (value) => {
    input.value = value;
    showProblem();
    onChange();
  };
  const check = () => {
    const error = showProblem();
    if (error) {
      input.focus();
    }
    return error === null;
  };
  const format = createButton("Format", () => check() && setText(formatJson(input.value)), { kind: "small" });

  input.addEventListener("input", () => {
    showSoon();
    onChange();
  });
  indentByTab(input);
  showProblem();
  const field = createField(label, input, HELP);
  input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby")} ${problem.id}`);
  const element = create(
    "div",
    { class: "stack" },
    field,
    create("div", { class: "actions" }, format, problem),
  );
  return { element, input, setText, check };
}

/** Returns JSON in lines. What is not JSON stays as it is. */
export function formatJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, INDENT);
  } catch {
    return text;
  }
}

/** Lets the Tab key indent, but not after Escape, so that the keyboard can leave the field. */
function indentByTab(input) {
  let isLeaving = false;
  input.addEventListener("blur", () => {
    isLeaving = false;
  });
  input.addEventListener("keydown", (event) => {
    const isTab = event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (isTab && !isLeaving) {
      event.preventDefault();
      insertText(input, INDENT);
    }
    isLeaving = event.key === "Escape";
  });
}

/** Inserts a text so that it can be undone, where the browser has a command for that. */
function insertText(input, text) {
  if (!document.execCommand("insertText", false, text)) {
    input.setRangeText(text, input.selectionStart, input.selectionEnd, "end");
    input.dispatchEvent(new Event("input"));
  }
}
