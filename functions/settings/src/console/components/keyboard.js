/** Keys for lists and tabs: arrows, Home and End move among the items. */

import { create, uniqueId } from "../dom.js";

const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/**
 * Lets arrow keys, Home and End move the focus among the elements of `list` that match `selector`. With `isOneStop`,
 * the tab key reaches only the one that had the focus last.
 */
export function moveByArrows(list, selector, { isOneStop = false } = {}) {
  const items = () => [...list.querySelectorAll(selector)];
  const keepOneTabStop = (current) =>
    items().forEach((item) => {
      item.tabIndex = item === current ? 0 : -1;
    });

  if (isOneStop) {
    list.addEventListener("focusin", (event) => keepOneTabStop(event.target.closest(selector)));
    keepOneTabStop(items()[0]);
  }
  list.addEventListener("keydown", (event) => {
    const all = items();
    const target = findTarget(all, all.indexOf(event.target.closest(selector)), event.key);
    if (target && event.target.matches(selector)) {
      event.preventDefault();
      target.focus();
    }
  });
}

/** Creates tabs. Each has a label and a function that creates its content when it is first shown. */
export function createTabs(label, tabs, { chosen = 0, onChoose = () => {} } = {}) {
  const panel = create("div", { role: "tabpanel", class: "tab-panel", id: uniqueId("panel"), tabindex: 0 });
  const contents = new Map();
  const buttons = tabs.map((tab, index) =>
    create(
      "button",
      {
        type: "button",
        role: "tab",
        class: "tab",
        id: uniqueId("tab"),
        "aria-controls": panel.id,
        on: { click: () => choose(index) },
      },
      tab.label,
    ),
  );
  const list = create("div", { role: "tablist", class: "tabs", "aria-label": label }, buttons);

  function choose(index) {
    if (!contents.has(index)) {
      contents.set(index, tabs[index].create());
    }
    buttons.forEach((button, other) => button.setAttribute("aria-selected", String(other === index)));
    panel.setAttribute("aria-labelledby", buttons[index].id);
    panel.replaceChildren(contents.get(index));
    onChoose(index);
  }

  moveByArrows(list, "[role=tab]", { isOneStop: true });
  choose(chosen);
  return create("div", {}, list, panel);
}

function findTarget(items, index, key) {
  if (key === "Home") {
    return items[0];
  }
  if (key === "End") {
    return items.at(-1);
  }
  return key in STEPS ? items[index + STEPS[key]] : null;
}
