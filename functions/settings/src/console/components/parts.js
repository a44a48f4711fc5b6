/** Small parts that many views share: the head of a page, fields, badges, pages, commands to copy. */

import { create, replace, uniqueId } from "../dom.js";
import { formatNumber } from "../format.js";
import { createIcon } from "../icons.js";
import { notify } from "./notice.js";

/**
 * Creates the head of a view, with its title, a sentence and its actions, and names the tab. `parent` is the label and
 * the address of the list to which the view belongs.
 */
export function createHead(title, { text, actions = [], parent } = {}) {
  document.title = `${title} · Recollect`;
  return create(
    "header",
    { class: "head" },
    create(
      "div",
      { class: "head-text" },
      parent && create("a", { class: "cut", dir: "auto", href: parent.href }, parent.label),
      create("h1", { dir: "auto" }, title),
      text && create("p", { class: "muted wrap" }, text),
    ),
    actions.length > 0 && create("div", { class: "actions" }, actions),
  );
}

/** Gives a head another title, once the name of what the view shows is known. */
export function renameHead(head, title) {
  document.title = `${title} · Recollect`;
  replace(head.querySelector("h1"), title);
}

/** Creates a section with a heading. */
export function createSection(title, ...children) {
  const id = uniqueId("section");
  return create(
    "section",
    { class: "section", "aria-labelledby": id },
    create("h2", { id }, title),
    children,
  );
}

/** Creates a button. `kind` is a class such as "primary", "danger" or "quiet". */
export function createButton(label, onClick, { icon, kind = "", ...attributes } = {}) {
  const classes = `button ${kind}`.trim();
  return create(
    "button",
    { type: "button", class: classes, on: { click: onClick }, ...attributes },
    icon && createIcon(icon),
    label,
  );
}

/** Creates a labelled control, with help that is read with it. */
export function createField(label, control, help) {
  control.id ||= uniqueId("field");
  const helpId = `${control.id}-help`;
  if (help) {
    control.setAttribute("aria-describedby", helpId);
  }
  return create(
    "div",
    { class: "field" },
    create("label", { htmlFor: control.id }, label),
    control,
    help && create("p", { class: "help", id: helpId }, help),
  );
}

/** Creates a box to tick, with its label. */
export function createCheck(label, isChecked, onChange = () => {}, attributes = {}) {
  const box = create("input", {
    type: "checkbox",
    checked: isChecked,
    on: { change: () => onChange(box.checked) },
    ...attributes,
  });
  return create("label", { class: "check" }, box, create("span", {}, label));
}

/** Creates a choice of values, each a pair of value and label. */
export function createSelect(pairs, chosen, onChange = () => {}, attributes = {}) {
  const options = pairs.map(([value, label]) =>
    create("option", { value, selected: value === chosen }, label),
  );
  const select = create("select", { on: { change: () => onChange(select.value) }, ...attributes }, options);
  return select;
}

/** Creates a short state, such as "failed". `tone` is "good", "bad", "busy" or nothing. */
export function createBadge(text, tone = "", title) {
  return create("span", { class: `badge ${tone}`.trim(), title }, text);
}

/** Creates what is shown in place of an empty list: what to do next, and a command for it. */
export function createEmpty(text, command) {
  return create("div", { class: "empty" }, create("p", {}, text), command && createCode(command, "command"));
}

/** Creates a text to copy, such as a command, with a button that copies it. */
export function createCode(text, name = "text") {
  return create(
    "div",
    { class: "code" },
    create("pre", { tabindex: 0, role: "group", "aria-label": formatLabel(name) }, text),
    createCopyButton(() => text, `Copy ${name}`),
  );
}

/** Creates a button that copies the text which `getText` returns. */
export function createCopyButton(getText, label = "Copy") {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(getText());
      notify("Copied.");
    } catch {
      notify("The browser did not allow copying. Select the text and copy it with the keyboard.");
    }
  };
  return createButton(label, copy, { icon: "copy", kind: "small" });
}

/** Creates buttons for the pages of a list. Nothing is created for a single page. */
export function createPages({ currentPage, totalPages }, onPage) {
  if (totalPages <= 1) {
    return null;
  }
  const step = (label, page, icon) =>
    createButton(label, () => onPage(page), {
      icon,
      disabled: page < 1 || page > totalPages,
    });
  return create(
    "nav",
    { class: "pages", "aria-label": "Pages" },
    step("Previous", currentPage - 1, "previous"),
    create(
      "span",
      { "aria-live": "polite" },
      `Page ${formatNumber(currentPage)} of ${formatNumber(totalPages)}`,
    ),
    step("Next", currentPage + 1, "next"),
  );
}

/** Creates a table. A row is an array of cells, the first of which is its heading. */
export function createTable(caption, columns, rows) {
  const head = columns.map((column) => create("th", { scope: "col" }, column));
  const body = rows.map(([first, ...others]) =>
    create(
      "tr",
      {},
      create("th", { scope: "row" }, first),
      others.map((cell, index) => create("td", { data: { label: columns[index + 1] } }, cell)),
    ),
  );
  return create(
    "div",
    { class: "table", tabindex: 0, role: "group", "aria-label": caption },
    create(
      "table",
      {},
      create("caption", { class: "hidden" }, caption),
      create("thead", {}, create("tr", {}, head)),
      create("tbody", {}, body),
    ),
  );
}

/** Creates a list of names and values. Pairs without a value are left out. */
export function createPairs(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return create(
    "dl",
    { class: "pairs" },
    shown.map(([name, value]) =>
      create(
        "div",
        {},
        create("dt", { class: "wrap" }, name),
        create("dd", { class: "wrap", dir: "auto" }, value),
      ),
    ),
  );
}

function formatLabel(name) {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
