/** A JSON value as a tree, whose objects and arrays can be opened and closed. */

import { create, replace } from "../dom.js";
import { formatCount, formatNumber } from "../format.js";
import { createButton } from "./parts.js";

const OPEN_DEPTH = 3;
const SHOWN_AT_ONCE = 100;
const LONGEST_TEXT = 2000;

/** Creates the tree. Parts are created when they are opened, so that large values do not freeze the page. */
export function createJsonTree(value) {
  return create("ul", { class: "tree" }, createNode(null, value, 0));
}

function createNode(name, value, depth) {
  const label = name !== null && create("span", { class: "tree-name", dir: "auto" }, name);
  if (value === null || typeof value !== "object") {
    return create("li", { class: "wrap" }, label, label && ": ", createScalar(value));
  }
  const entries = Object.entries(value);
  if (entries.length === 0) {
    return create("li", {}, label, label && ": ", Array.isArray(value) ? "[]" : "{}");
  }
  return create("li", {}, createBranch(label, value, entries, depth));
}

function createBranch(label, value, entries, depth) {
  const list = create("ul", {});
  const count = Array.isArray(value)
    ? `[${formatCount(entries.length, "item")}]`
    : `{${formatCount(entries.length, "field")}}`;
  const branch = create(
    "details",
    {},
    create("summary", { class: "wrap" }, label, label && ": ", create("span", { class: "muted" }, count)),
    list,
  );
  let isFilled = false;
  const fill = () => {
    if (!isFilled) {
      isFilled = true;
      showEntries(list, entries, depth, 0);
    }
  };
  branch.addEventListener("toggle", () => branch.open && fill());
  if (depth < OPEN_DEPTH) {
    branch.open = true;
    fill();
  }
  return branch;
}

function showEntries(list, entries, depth, start) {
  const end = start + SHOWN_AT_ONCE;
  list.append(...entries.slice(start, end).map(([name, value]) => createNode(name, value, depth + 1)));
  if (end < entries.length) {
    const rest = formatNumber(Math.min(SHOWN_AT_ONCE, entries.length - end));
    const more = create("li", {});
    const showMore = () => {
      more.remove();
      showEntries(list, entries, depth, end);
      list.children[end].querySelector("summary")?.focus();
    };
    list.append(replace(more, createButton(`Show ${rest} more`, showMore, { kind: "small" })));
  }
}

function createScalar(value) {
  const text = JSON.stringify(value);
  const shown = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
  const kind = value === null ? "null" : typeof value;
  return create("span", { class: `tree-${kind}`, dir: "auto" }, shown);
}
