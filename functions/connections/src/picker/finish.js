// The end of the picker: saving, the progress of the synchronization, and the way on.
import { isFramed, tell, tellFailure } from "./frame.js";
import { ask, at, call, consoleOf, icon, make, plural, problem, providerName, say } from "./parts.js";
import { counts, forget, isChanged, isEmpty, lock, markSaved, toSend, wasSavedBefore } from "./selection.js";

// The milliseconds between two questions about the progress: longer as it goes on.
const FIRST_PAUSE = 1_000;
const LAST_PAUSE = 10_000;

// True from the beginning of saving or of an end: nothing is closed any more.
let isEnding = false;

/** The number of the newest run, or 0 before the first one. */
const runNumber = (sync) => (sync && sync.run ? sync.run.number : 0);

/** Replaces the lists by one section. Returns the elements that change while it is there. */
function leave(title, connection) {
  document.title = title;
  document.querySelector("h1").textContent = providerName(connection.provider);
  at("about").hidden = true;
  at("facts").hidden = true;
  const heading = make("h2", { textContent: title, tabIndex: -1 });
  const text = make("p", {});
  const bar = make("progress", { hidden: true });
  bar.setAttribute("aria-label", "Synchronization");
  const actions = make("p", { className: "ways" });
  const details = make("dl", {});
  const facts = [["Account", connection.email], ["Container", connection.containerTag], ["Connection", connection.id]];
  for (const [name, value] of facts) {
    if (value) details.append(make("dt", { textContent: name }), make("dd", { textContent: value }));
  }
  at("main").replaceChildren(make("section", { className: "done" }, heading, text, bar, actions, details));
  document.querySelector("footer").hidden = true;
  document.querySelector(".skip").remove();
  window.scrollTo(0, 0);
  heading.focus();
  return { heading, text, bar, actions };
}

/** Ends the session, and takes the browser to whoever sent it. */
async function goBack(address) {
  const answer = await call("POST", "/api/complete", {}).catch(() => ({}));
  window.location.assign(answer.redirectTo || address);
}

/** Ends the session in a frame, and tells the page around it. */
async function closeFrame(saved) {
  await call("POST", "/api/complete", saved ? {} : { cancelled: true }).catch(() => {});
  tell("closed", { saved });
}

/** Offers the way back to whoever sent the browser or, if nobody did, the container in the console. */
async function offerWays(actions, connection, redirectTo) {
  if (isFramed) {
    const done = make("button", { type: "button", className: "primary", textContent: "Done" });
    done.addEventListener("click", () => {
      done.disabled = true;
      closeFrame(true);
    });
    actions.append(done);
    return;
  }
  if (redirectTo) {
    const link = make("a", { className: "button primary", href: redirectTo, textContent: `Back to ${new URL(redirectTo).host}` });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      goBack(redirectTo);
    });
    actions.append(link);
    return;
  }
  actions.append(make("span", { className: "quiet", textContent: "You can close this page: this goes on without it." }));
  const { root, container } = consoleOf(connection.containerTag);
  const page = await fetch(root, { headers: { accept: "text/html" }, credentials: "omit" }).catch(() => null);
  if (page && page.ok && (page.headers.get("content-type") || "").startsWith("text/html")) {
    actions.prepend(make("a", { className: "button primary", href: container, textContent: "Open the container" }));
  }
}

function tellRunning(shown, sync) {
  const count = sync ? sync.documentCount : 0;
  shown.heading.textContent = "Saved. Synchronizing now";
  shown.text.textContent = count > 0
    ? `${plural(count, "document")} so far.`
    : "The first documents appear here as soon as they are copied.";
}

/** Says how the run ended. Returns true if nothing went wrong: what is left out is left out for a reason. */
function tellEnd(shown, { sync, connection }) {
  const { run, documentCount } = sync;
  shown.bar.hidden = true;
  if (run.status === "failed" || connection.status === "expired") {
    shown.heading.textContent = "Saved, but not synchronized yet";
    shown.text.textContent = sync.error || run.error || "It is tried again by itself.";
    say(shown.heading.textContent);
    return false;
  }
  const left = [run.failed && `${plural(run.failed, "file")} could not be copied`, run.skipped && `${plural(run.skipped, "file")} left out`];
  const rest = left.filter(Boolean).join(", ");
  document.title = "Synchronized";
  shown.heading.replaceChildren(icon("done"), "Synchronized");
  const count = plural(documentCount, "document is copied", "documents are copied");
  shown.text.textContent = `${count}${rest ? `; ${rest}` : ""}. They can be searched once they are processed, and changes in your drive follow.`;
  say(`Synchronized. ${shown.text.textContent}`);
  return !run.failed;
}

/** Follows the run that began after `before`, until it ends or the session does. */
async function follow(shown, before) {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 1.3, LAST_PAUSE)) {
    let state = null;
    try {
      state = await call("GET", "/api/selection");
    } catch (error) {
      // Nothing depends on this page any more: the service goes on without it.
      if (error.over || error.status) return null;
    }
    if (state && !state.sync) return null;
    if (state && runNumber(state.sync) > before && state.sync.run.status !== "running") return state;
    if (state) tellRunning(shown, state.sync);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Shows the progress after something was saved. */
async function showProgress(connection, redirectTo, before) {
  const shown = leave("Saved. Synchronizing now", connection);
  tellRunning(shown, null);
  shown.bar.hidden = false;
  say("Saved. Synchronizing now.");
  const ways = offerWays(shown.actions, connection, redirectTo);
  const end = await follow(shown, before);
  if (!end) {
    shown.bar.hidden = true;
    shown.heading.textContent = "Saved";
    shown.text.textContent = "What you selected is being synchronized.";
    return;
  }
  const isFine = tellEnd(shown, end);
  await ways;
  if (isFramed) return;
  if (isFine && redirectTo) await goBack(redirectTo);
  else if (!redirectTo) await call("POST", "/api/complete", {}).catch(() => {});
}

async function end(body, title, text) {
  const answer = await call("POST", "/api/complete", body);
  forget();
  tell("closed", { saved: false });
  if (answer.redirectTo && !isFramed) {
    window.location.assign(answer.redirectTo);
    return;
  }
  const shown = leave(title, answer.connection);
  shown.text.textContent = text;
  if (!isFramed) await offerWays(shown.actions, answer.connection, null);
}

/** Shows and tells why an end failed. The button may be used again. */
function refuse(error, reason, button) {
  isEnding = false;
  problem(error.message);
  tellFailure(error, reason);
  lock(false);
  at(button).focus();
}

export async function save() {
  const question = "Nothing is selected. Documents that were synchronized by this connection will be removed. Save anyway?";
  if (isEmpty() && !(await ask(question, "Save"))) return;
  if (isEnding) return;
  isEnding = true;
  problem("");
  lock(true);
  say("Saving");
  try {
    if (wasSavedBefore() && !isChanged()) {
      await end({}, "Nothing was changed", "What you selected before stays selected.");
      return;
    }
    const { connection, sync, redirectTo } = await call("GET", "/api/selection");
    await call("PUT", "/api/selection", toSend());
    tell("saved", counts());
    markSaved();
    await showProgress(connection, redirectTo, runNumber(sync));
  } catch (error) {
    refuse(error, "not_saved", "save");
  }
}

async function leaveUnsaved() {
  if (isEnding) return;
  isEnding = true;
  lock(true);
  try {
    await end({ cancelled: true }, "Nothing was changed", "What was selected before stays as it is.");
  } catch (error) {
    refuse(error, "not_closed", "cancel");
  }
}

export async function cancel() {
  if (isChanged() && !(await ask("Leave without saving what you selected?", "Leave"))) return;
  await leaveUnsaved();
}

/** Closes the picker because the page around the frame asks for it: without a question, and not once saving began. */
export async function closeByParent() {
  at("ask").close("no");
  await leaveUnsaved();
}
