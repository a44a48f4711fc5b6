// The picker's page. What comes from the drive is shown as text only, never as markup.
import { at, call, describe, icon, iconOf, make, plural, providerName, say } from "./parts.js";
import {
  begin, choose, countLeftOut, countWithin, coverOf, exclusionOf, isChosen, isExcluded, learn, removeAll,
} from "./selection.js";
import { cancel, closeByParent, save } from "./finish.js";
import { followHeight, onClose, tell, tellFailure } from "./frame.js";
import { go, here, idsAbove, pathInto, pathOf, place, recall, restore, roots, see } from "./places.js";

const list = at("list");
// Pages without anything to show after which a person decides whether to go on.
const MOST_EMPTY = 5;
// The milliseconds without a key after which a search begins.
const TYPING_PAUSE = 250;
let shown = [];
let next = null;
// Answers to older questions are dropped, and their requests ended.
let asked = 0;
let ending = new AbortController();
let typing = 0;
let account = "";

/** An item as the selection needs it. */
function entryOf(item) {
  return { item, above: idsAbove(item), path: pathOf(item) };
}

const canChoose = (item) => item.selectable && !exclusionOf(idsAbove(item));

/** Whether everything of an item is selected, or nothing, or some of it. */
function stateOf(item) {
  const above = idsAbove(item);
  if (exclusionOf(above) || isExcluded(item.id)) return "none";
  const isFolder = item.type === "folder";
  if (isChosen(item.id) || coverOf(above)) return isFolder && countLeftOut(item.id) > 0 ? "some" : "all";
  return isFolder && countWithin(item.id) > 0 ? "some" : "none";
}

/** Says what else selects an item or leaves it out. */
function reasonOf(item, above) {
  const exclusion = exclusionOf(above);
  const cover = coverOf(above);
  if (exclusion) return `Left out with ${exclusion.name}`;
  if (isExcluded(item.id)) return cover ? `Left out of ${cover.name}` : "Left out";
  return cover && `Included by ${cover.name}`;
}

/** Sets what a row shows of the selection. */
function mark(line, item) {
  const above = idsAbove(item);
  const box = line.querySelector("input");
  learn(item, above);
  const state = stateOf(item);
  box.checked = state === "all";
  box.disabled = !canChoose(item);
  box.indeterminate = state === "some";
  line.classList.toggle("ticked", box.checked);
  line.classList.toggle("out", box.disabled);
  const reason = reasonOf(item, above);
  const about = reason ? [reason] : describe(item, account);
  if (state === "some") {
    const isWhole = isChosen(item.id) || coverOf(above);
    const count = isWhole ? countLeftOut(item.id) : countWithin(item.id);
    about.unshift(`${count.toLocaleString()} ${isWhole ? "left out" : "selected"} inside`);
  }
  if (place.query && pathOf(item)) about.unshift(`in ${pathOf(item)}`);
  line.querySelector(".about").textContent = about.join(" · ");
}

function row(item, index) {
  const about = make("span", { className: "about", id: `about-${index}` });
  const box = make("input", { type: "checkbox" });
  box.setAttribute("aria-describedby", about.id);
  const words = make("span", { className: "words" }, make("span", { className: "name", textContent: item.name }), about);
  words.firstChild.setAttribute("aria-hidden", "true");
  const tick = make("label", { className: "tick" }, box, make("span", { className: "unseen", textContent: item.name }));
  const line = make("li", {}, tick, icon(iconOf(item)), words);
  box.addEventListener("change", () => {
    choose([entryOf(item)], box.checked);
    showMarks();
  });
  if (item.type === "folder" && item.selectable) {
    line.classList.add("folder");
    const trail = place.query ? null : place.path;
    const open = make("button", { type: "button" }, make("span", { textContent: "Open" }), icon("open"));
    open.setAttribute("aria-label", `Open ${item.name}`);
    open.addEventListener("click", () => enter(item, trail));
    line.append(open);
    line.addEventListener("dblclick", (event) => {
      if (!event.target.closest("label, button")) enter(item, trail);
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") enter(item, trail);
    });
  }
  mark(line, item);
  return line;
}

function showAll() {
  const open = shown.filter(canChoose);
  const states = open.map(stateOf);
  const ticked = states.filter((state) => state === "all").length;
  const box = at("all");
  box.disabled = open.length === 0;
  box.checked = open.length > 0 && ticked === open.length;
  box.indeterminate = !box.checked && states.some((state) => state !== "none");
  at("all-text").textContent = `Select all${open.length > 1 ? ` ${open.length.toLocaleString()}` : ""} ${next ? "shown so far" : "here"}`;
}

function showMarks() {
  shown.forEach((item, index) => list.children[index] && mark(list.children[index], item));
  showAll();
}

function showItems() {
  list.replaceChildren(...shown.map(row));
  showAll();
}

function crumb(step, isLast) {
  if (isLast) {
    const text = make("span", { textContent: step.name, tabIndex: -1, id: "here" });
    text.setAttribute("aria-current", "location");
    return make("li", {}, text);
  }
  const back = make("button", { type: "button", textContent: step.name });
  back.addEventListener("click", () => {
    const from = place.path[step.depth];
    at("query").value = "";
    go({ path: place.path.slice(0, step.depth), query: "" });
    load({ focus: from ? from.id : "here" });
  });
  return make("li", {}, back);
}

function showPlace() {
  for (const button of document.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === place.view));
  }
  const folders = place.path.map((folder, index) => ({ name: folder.name, depth: index + 1 }));
  const steps = [{ name: roots[place.view], depth: 0 }, ...(place.query ? [{ name: `Names with “${place.query}”` }] : folders)];
  at("crumbs").replaceChildren(...steps.map((step, index) => crumb(step, index === steps.length - 1)));
  document.title = `${steps[steps.length - 1].name} · Choose what to sync`;
}

function enter(folder, trail) {
  const path = pathInto(folder, trail);
  at("query").value = "";
  go({ path, query: "" });
  load({ focus: "here" });
}

function notice(text, canRetry) {
  at("notice").hidden = !text;
  at("notice-text").textContent = text;
  at("retry").hidden = !canRetry;
}

function whyEmpty(areDrives) {
  if (next) return "Nothing so far that can be read.";
  if (place.query) return "No name has a word that begins like this.";
  return areDrives ? "There are no shared drives." : "There is nothing here.";
}

/** Moves the focus to a row: by its place in the list, by the id of its item, or to the name of the place. */
function focusOn(what) {
  const index = typeof what === "number" ? what : shown.findIndex((item) => item.id === what);
  const line = list.children[index];
  const there = line && line.querySelector("input:not(:disabled), button");
  const target = there || (what === "here" || index < 0 ? at("here") : list);
  target.focus();
}

function parametersOf(more) {
  const parameters = new URLSearchParams({ view: place.view });
  const parent = here();
  if (place.query) parameters.set("q", place.query);
  else if (parent) parameters.set("parent", parent.id);
  if (more) parameters.set("pageToken", next);
  return parameters;
}

/** Takes in a page of a listing. */
function accept(answer, more) {
  const areDrives = place.view === "drives" && !here() && !place.query;
  const fresh = answer.items.map((item) => ({ ...item, isDrive: areDrives }));
  see(fresh);
  if (!more) shown = [];
  const before = shown.length;
  const known = new Set(shown.map((item) => item.id));
  const found = more || !place.query ? fresh : fresh.concat(recall(place.query, place.view));
  for (const item of found) {
    if (known.has(item.id)) continue;
    known.add(item.id);
    shown.push(item);
  }
  next = answer.nextPageToken;
  if (more) list.append(...shown.slice(before).map((item, index) => row(item, before + index)));
  else showItems();
  showAll();
  at("empty").hidden = shown.length > 0;
  at("empty").textContent = whyEmpty(areDrives);
  say(`${plural(shown.length, "item")}${next ? ", and more" : ""}.${answer.incomplete ? " Some may be missing." : ""}`);
  return before;
}

function refuse(error, more) {
  // A listing that has changed meanwhile begins again.
  if (error.status === 400 && more) next = null;
  if (!more) {
    shown = [];
    showItems();
  }
  notice(error.message, !error.over);
  if (error.over) tellFailure(error, "session_ended");
  if (more) at("retry").focus();
}

/** Shows the place. The old rows stay until the answer is there, so that nothing jumps. */
async function load({ focus = null, more = false, empty = 0 } = {}) {
  asked += 1;
  const mine = asked;
  ending.abort();
  ending = new AbortController();
  notice("", false);
  list.setAttribute("aria-busy", "true");
  at("more").disabled = true;
  if (!more) {
    next = null;
    showPlace();
    say("Loading");
    if (focus !== null) at("here").focus();
  }
  try {
    const answer = await call("GET", `/api/items?${parametersOf(more)}`, null, ending.signal);
    if (mine !== asked) return;
    const before = accept(answer, more);
    if (focus !== null && focus !== "here") focusOn(focus);
    if (more && !empty) focusOn(before);
    // What is left out may fill a page.
    if (shown.length === 0 && next && empty < MOST_EMPTY) return load({ more: true, empty: empty + 1 });
  } catch (error) {
    if (mine === asked) refuse(error, more);
  } finally {
    if (mine === asked) {
      list.setAttribute("aria-busy", "false");
      at("more").hidden = !next;
      at("more").disabled = false;
    }
  }
}

/** Searches for what the field holds. An empty field leads back to where the search began. */
function search() {
  clearTimeout(typing);
  const query = at("query").value.trim();
  if (query === place.query) return;
  if (query) {
    go({ query }, Boolean(place.query));
    load();
  } else if (history.state && history.state.isSearch) {
    history.back();
  } else {
    go({ query: "" }, true);
    load();
  }
}

// Arrow keys go from row to row, in the column of what has the focus.
list.addEventListener("keydown", (event) => {
  const line = event.target.closest("li");
  const lines = [...list.children];
  const current = lines.indexOf(line);
  const there = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: lines.length - 1 }[event.key];
  if (event.key === "ArrowRight" && event.target.matches("input")) {
    const open = line.querySelector("button");
    if (open) open.focus();
  } else if (event.key === "ArrowLeft" && event.target.matches("button")) {
    line.querySelector("input").focus();
  } else if (there !== undefined && lines[there]) {
    event.preventDefault();
    const wanted = event.target.tagName === "BUTTON" ? "button" : "input:not(:disabled)";
    const found = lines[there].querySelector(wanted) || lines[there].querySelector("input:not(:disabled), button");
    if (found) found.focus();
  }
});

// A click beside the box ticks nothing: it takes the focus to the row, for the keys.
list.addEventListener("click", (event) => {
  const line = event.target.closest("li");
  if (!line || event.target.closest("label, button")) return;
  const target = line.querySelector("input:not(:disabled), button");
  if (target) target.focus();
});

for (const button of document.querySelectorAll("[data-view]")) {
  button.addEventListener("click", () => {
    at("query").value = "";
    go({ view: button.dataset.view, path: [], query: "" });
    load();
  });
}
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
at("query").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, TYPING_PAUSE);
});
at("all").addEventListener("change", () => {
  choose(shown.filter(canChoose).map(entryOf), at("all").checked);
  showMarks();
});
at("more").addEventListener("click", () => load({ more: true }));
at("retry").addEventListener("click", () => load({ focus: "here", more: shown.length > 0 && next !== null }));
at("clear").addEventListener("click", removeAll);
at("show").addEventListener("click", () => {
  at("chosen-title").focus();
  at("chosen-title").scrollIntoView({ block: "start" });
});
at("save").addEventListener("click", save);
at("cancel").addEventListener("click", cancel);
onClose(closeByParent);
window.addEventListener("popstate", (event) => {
  // After the end there is nothing to go back to but a new beginning.
  if (!at("list")) return window.location.reload();
  clearTimeout(typing);
  const left = here();
  const depth = place.path.length;
  restore(event.state);
  at("query").value = place.query;
  const isUp = left && place.path.length < depth && !place.query;
  const isTyping = document.activeElement === at("query");
  load({ focus: isTyping ? null : isUp ? left.id : "here" });
});

function fact(name, value) {
  return value ? [make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))] : [];
}

async function start() {
  try {
    const state = await call("GET", "/api/selection");
    const { connection } = state;
    tell("ready", { connectionId: connection.id });
    begin(state, showMarks);
    account = connection.email;
    at("provider").textContent = providerName(connection.provider);
    at("facts").replaceChildren(
      ...fact("Account", connection.email),
      ...fact("Organization", connection.organization),
      ...fact("Container", connection.containerTag),
    );
    at("limit").textContent = `The container gets at most ${plural(connection.documentLimit, "document")} from here, the newest first.`;
    restore(history.state);
    go({}, true);
    at("query").value = place.query;
    await load();
  } catch (error) {
    list.setAttribute("aria-busy", "false");
    notice(error.message, false);
    tellFailure(error, "not_loaded");
  }
}
const { name } = document.body.dataset;
at("receiver").hidden = !name;
at("receiver-name").textContent = name;
followHeight();
start();
