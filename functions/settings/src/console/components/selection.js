/** A selection of items of a list: a box to tick for each, and a bar with what can be done with those that are ticked. */

import { create } from "../dom.js";
import { createSelectionBar, NAME_LENGTH } from "./selection-bar.js";

/**
 * Creates a selection. An item has an `id` and a `name`. The list calls `show` with its items and with the number of
 * all that match its filters, and then creates the box of each item with `createBox`.
 *
 * Items stay selected when the list shows others. `createSelectionBar` describes the options.
 */
export function createSelection(options) {
  const chosen = new Map();
  const boxes = new Map();
  let shown = [];
  let total = 0;
  let lastId = null;

  const choose = (items, isChosen) => {
    for (const item of items) {
      if (isChosen) {
        chosen.set(item.id, item);
      } else {
        chosen.delete(item.id);
      }
    }
    update();
  };
  const update = () => {
    for (const [id, box] of boxes) {
      box.checked = chosen.has(id);
    }
    bar.show([...chosen.values()], shown, total);
  };
  const bar = createSelectionBar(options, choose);

  const show = (items, totalItems = items.length) => {
    shown = items;
    total = totalItems;
    boxes.clear();
    for (const item of items) {
      // Its state may have changed since it was selected.
      if (chosen.has(item.id)) {
        chosen.set(item.id, item);
      }
    }
    update();
  };
  const createBox = (item) => {
    const box = create("input", {
      type: "checkbox",
      checked: chosen.has(item.id),
      "aria-label": `Select: ${item.name.slice(0, NAME_LENGTH)}`,
    });
    box.addEventListener("click", (event) => {
      choose(event.shiftKey ? findRange(shown, lastId, item.id) : [item], box.checked);
      lastId = item.id;
    });
    boxes.set(item.id, box);

    // With Shift, the browser would select the text between two clicks.
    const mousedown = (event) => event.shiftKey && event.preventDefault();
    return create("label", { class: "tick", on: { mousedown } }, box);
  };
  return { element: bar.element, show, createBox };
}

/** Returns the items from one to another, or only the second if the list does not have the first. */
function findRange(items, firstId, lastId) {
  const last = items.findIndex(({ id }) => id === lastId);
  const first = items.findIndex(({ id }) => id === firstId);
  return first < 0 ? [items[last]] : items.slice(Math.min(first, last), Math.max(first, last) + 1);
}
