/** The bar of a selection: the number of selected items, the actions for them, their progress, and what has failed. */

import { sendInParts } from "../api.js";
import { create, replace } from "../dom.js";
import { formatCount, formatNumber } from "../format.js";
import { confirmAction } from "./dialog.js";
import { createAlert, createErrorBox } from "./load.js";
import { notify } from "./notice.js";
import { createButton, createCheck, createCopyButton } from "./parts.js";

const SMALL = { kind: "small" };
const MOST_NAMES = 3;
const MOST_REASONS = 5;

/** The most characters of a name that are shown or read out. */
export const NAME_LENGTH = 80;

/**
 * Creates the bar. `choose` selects items or ends their selection.
 *
 * `noun` and `plural` name the items. `findAll` fetches all that match the filters of the list; without it, only those
 * that are shown can be selected together. `onDone` is called after an action. An action has
 *
 * - `label`, a function that returns the text of the button for a number of items
 * - `accepts`, which tells whether the action is for an item; without it, it is for each
 * - `question`, a function that returns what `confirmAction` asks about some items; without it, nothing is asked
 * - `doing` and `done`, such as "Deleting" and "deleted"
 * - `send`, which sends the request for at most `size` items
 */
export function createSelectionBar({ noun, plural = `${noun}s`, actions, findAll, onDone }, choose) {
  const countItems = (items) => formatCount(items.length, noun, plural);
  const all = createCheck("Select all shown", false, (isChecked) => choose(state.shown, isChecked));
  const box = all.querySelector("input");
  const status = create("span", { class: "muted", role: "status" });
  const tools = create("div", { class: "actions" });
  const errors = create("div", {});
  const element = create(
    "div",
    { class: "selection", role: "group", "aria-label": `Selection of ${plural}` },
    create("div", { class: "selection-bar" }, all, status, tools),
    errors,
  );
  let state = { chosen: [], shown: [], total: 0 };
  let isBusy = false;

  const show = (chosen, shown, total) => {
    state = { chosen, shown, total };
    if (!isBusy) {
      render();
    }
  };
  const render = () => {
    const { chosen, shown, total } = state;
    const chosenIds = new Set(chosen.map(({ id }) => id));
    const chosenShown = shown.filter(({ id }) => chosenIds.has(id)).length;
    const hasAllShown = shown.length > 0 && chosenShown === shown.length;

    const isEmpty = shown.length === 0 && chosen.length === 0;
    if (isEmpty && element.contains(document.activeElement)) {
      element.closest("main").focus();
    }
    element.hidden = isEmpty;
    box.disabled = shown.length === 0;
    box.checked = hasAllShown;
    box.indeterminate = chosenShown > 0 && !hasAllShown;
    replace(status, describeSelection(chosen.length, chosen.length - chosenShown));
    replaceTools(chosen.length > 0 ? createTools(findAll && hasAllShown && chosen.length < total) : []);
  };
  /** If the focus is on a button that goes away, it goes to the one that stops the work, or else to the box. */
  const replaceTools = (buttons) => {
    const hadFocus = tools.contains(document.activeElement);
    replace(tools, buttons);
    if (hadFocus) {
      (isBusy ? tools.querySelector("button") : box).focus();
    }
  };

  const createTools = (isMoreOffered) => [
    isMoreOffered && createButton(`Select all ${formatNumber(state.total)} that match`, selectAll, SMALL),
    actions.map(createActionButton),
    createCopyButton(() => state.chosen.map(({ id }) => id).join("\n"), "Copy ids"),
    createButton("Clear", () => choose(state.chosen, false), {
      ...SMALL,
      "aria-label": "Clear the selection",
    }),
  ];
  const createActionButton = (action) => {
    const items = state.chosen.filter(action.accepts ?? (() => true));
    const begin = () => (action.question ? ask(action, items) : run(action, items));
    const kind = action.question ? "small danger" : "small";
    return items.length > 0 && createButton(action.label(items.length), begin, { kind });
  };
  const ask = (action, items) =>
    confirmAction({ ...action.question(items), afterwards: () => run(action, items) });
  const selectAll = () =>
    work("Looking for all that match", async (options) => choose(await findAll(options), true));
  const run = (action, items) =>
    work(`${action.doing} ${countItems(items)}`, async (options) => {
      const { sent, failed } = await sendInParts(items, action.size, action.send, options);
      choose(sent, false);
      if (failed.length > 0) {
        replace(
          errors,
          createFailures(failed, `${formatNumber(failed.length)} of ${countItems(items)}`, action),
        );
      }
      if (sent.length > 0) {
        notify(`${countItems(sent)} ${sent.length === 1 ? "is" : "are"} ${action.done}.`);
      }
      onDone();
    });

  /** Shows the progress of some work in place of the actions. */
  const work = async (title, start) => {
    const stopper = new AbortController();
    const progress = create("progress", { "aria-label": title });
    const onProgress = (share) => {
      progress.value = share;
    };
    isBusy = true;
    box.disabled = true;
    replace(errors);
    replace(status, `${title}…`);
    replaceTools([createButton("Stop", () => stopper.abort(), SMALL), progress]);
    try {
      await start({ signal: stopper.signal, onProgress });
    } catch (error) {
      if (error.name !== "AbortError") {
        replace(errors, createErrorBox(error));
      }
    } finally {
      isBusy = false;
      render();
    }
  };
  return { element, show };
}

/** Returns a few names of items, and the number of the others. */
export function listNames(items) {
  const names = items.slice(0, MOST_NAMES).map(({ name }) => `“${name.slice(0, NAME_LENGTH)}”`);
  const others = items.length - names.length;
  return others > 0 ? `${names.join(", ")} and ${formatNumber(others)} more` : names.join(" and ");
}

function describeSelection(chosen, hidden) {
  if (chosen === 0) {
    return "";
  }
  const text = `${formatNumber(chosen)} selected`;
  return hidden > 0 ? `${text}, of which ${formatNumber(hidden)} not shown` : text;
}

function createFailures(failed, count, { done }) {
  const byReason = Map.groupBy(failed, ({ error }) => [error.message, error.advice].join(" "));
  const reasons = [...byReason]
    .slice(0, MOST_REASONS)
    .map(([reason, failures]) =>
      create("li", { class: "wrap" }, `${listNames(failures.map(({ item }) => item))}: ${reason}`),
    );
  return createAlert([
    create("p", { class: "strong" }, `${count} could not be ${done}, and stay selected.`),
    create("ul", {}, reasons),
  ]);
}
