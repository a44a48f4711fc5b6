/** Shows what is loading if it takes long, and errors with what to do about them. */

import { create, replace } from "../dom.js";
import { createIcon } from "../icons.js";

const QUIET_MILLISECONDS = 300;
const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

/** The latest load of each target, as a symbol of its own. */
const latestLoads = new WeakMap();

/**
 * Puts what `render` makes of the answer of `fetchData` into `target`. What `target` shows stays until then. A failure
 * is shown with a button that tries again. An answer that comes after a later load has begun is not shown.
 */
export async function load(target, { label, signal }, fetchData, render) {
  const sign = Symbol(label);
  latestLoads.set(target, sign);
  const isLatest = () => latestLoads.get(target) === sign;
  const timer = setTimeout(() => isLatest() && showLoading(target, label), QUIET_MILLISECONDS);

  target.setAttribute("aria-busy", "true");
  try {
    const data = await fetchData();
    if (isLatest() && !signal?.aborted) {
      replaceWithFocus(target, render(data));
    }
  } catch (error) {
    if (isLatest() && !isStopped(error, signal)) {
      const retry = () => load(target, { label, signal }, fetchData, render);
      replace(target, createErrorBox(error, retry));
    }
  } finally {
    clearTimeout(timer);
    if (isLatest()) {
      target.removeAttribute("aria-busy");
      target.querySelector(":scope > .loading")?.remove();
    }
  }
}

/** Creates a box that reports a failure, with an optional button beside the text. */
export function createAlert(content, button) {
  return create(
    "div",
    { class: "error-box", role: "alert" },
    createIcon("warning"),
    create("div", {}, content),
    button,
  );
}

/** Creates a box with the message of an error, what to do, and a button that tries again. */
export function createErrorBox(error, retry) {
  const issues = (error.issues ?? []).map((issue) =>
    create("li", {}, `${issue.path.join(".")}: ${issue.message}`),
  );
  return createAlert(
    [
      create("p", { class: "strong" }, error.message),
      issues.length > 1 && create("ul", {}, issues),
      create("p", {}, error.advice ?? "Load the page again."),
      error.requestId && create("p", { class: "muted" }, "Request ", create("code", {}, error.requestId)),
    ],
    retry && create("button", { type: "button", class: "button", on: { click: retry } }, "Try again"),
  );
}

/**
 * Runs an action of a button. The button is disabled meanwhile, and an error is shown in `target`.
 * Returns true if the action has succeeded.
 */
export async function runAction(button, target, action) {
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    await action();
    replace(target);
    return true;
  } catch (error) {
    if (!isStopped(error)) {
      replace(target, createErrorBox(error));
    }
    return false;
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

/** Returns the listener of a form that runs an action of its button, as `runAction` does. */
export function onSubmit(button, target, action) {
  return (event) => {
    event.preventDefault();
    runAction(button, target, action);
  };
}

/** Tells whether an error only says that the person has left the view. */
function isStopped(error, signal) {
  return error.name === "AbortError" || Boolean(signal?.aborted);
}

/** If the focus was in the old content, it goes to the same place of the new content. */
function replaceWithFocus(target, content) {
  const index = [...target.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  replace(target, content);
  if (index >= 0 && !target.contains(document.activeElement)) {
    const now = target.querySelectorAll(FOCUSABLE);
    now[Math.min(index, now.length - 1)]?.focus({ preventScroll: true });
  }
}

function showLoading(target, label) {
  target.querySelector(":scope > .loading")?.remove();
  target.prepend(create("p", { class: "loading", role: "status" }, `Loading ${label}…`));
}
