// What is selected: kept in this tab until it is saved, shown beside the list and in the bar at the bottom.
import { at, icon, iconOf, make, plural, problem, say, size } from "./parts.js";

const chosen = new Map();
let saved = "[]";
let hadSelection = false;
let most = 500;
let busy = false;
// What was selected and not saved, for a session that ends before. It belongs to one connection.
let draft = "";
// Redraws the list when the selection changes beside it.
let redraw = () => {};

export const isChosen = (id) => chosen.has(id);
export const wasSavedBefore = () => hadSelection;
export const isEmpty = () => chosen.size === 0;

/** The selected folder that an item lies in, as far as the folders above it are known. */
export function coverOf(above) {
  const id = above.find((folder) => chosen.has(folder));
  return id && chosen.get(id);
}

/** The number of selected items that are known to lie in a folder. */
export function countWithin(folder) {
  return [...chosen.values()].filter((item) => (item.above || []).includes(folder)).length;
}

export function toSend() {
  return [...chosen.values()].map(({ id, name, folder, drive }) => ({ id, name, folder, drive }));
}

export function isChanged() {
  return JSON.stringify(toSend()) !== saved;
}

/** Keeps the selection in this tab, or forgets it. */
function keep(items) {
  try {
    if (items) sessionStorage.setItem(draft, JSON.stringify(items));
    else sessionStorage.removeItem(draft);
  } catch {
    // A browser that keeps nothing.
  }
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(draft));
  } catch {
    return null;
  }
}

/** Takes the saved selection, and what this tab kept of an earlier session in its place. */
export function begin({ connection, items, places = {}, limit }, onChange) {
  for (const item of items) {
    const place = places[item.id] || {};
    const path = (place.path || "").split("/").filter(Boolean).join(" / ");
    chosen.set(item.id, { ...item, above: place.chain || [], path });
  }
  saved = JSON.stringify(toSend());
  hadSelection = items.length > 0;
  most = limit;
  redraw = onChange;
  draft = `selection of ${connection.id}`;
  const before = kept();
  if (before) {
    chosen.clear();
    for (const item of before) chosen.set(item.id, item);
  }
  showChosen();
}

export function markSaved() {
  saved = JSON.stringify(toSend());
  hadSelection = true;
  keep(null);
}

export const forget = () => keep(null);

/** Remembers the folders above a selected item once the list shows them. */
export function learn(item, above) {
  const known = chosen.get(item.id);
  if (known && above.length > (known.above || []).length) known.above = above;
}

function add(item, above, path) {
  const { id, name, isDrive, mimeType, type } = item;
  const folder = type === "folder";
  chosen.set(id, { id, name, folder, drive: item.driveId || undefined, isDrive, mimeType, type, size: item.size, above, path });
}

/** Selects items or removes them. Returns false if there was no room for all of them. */
export function choose(entries, wanted) {
  problem("");
  let fits = true;
  for (const { item, above, path } of entries) {
    if (!wanted) chosen.delete(item.id);
    else if (chosen.has(item.id)) continue;
    else if (chosen.size < most) add(item, above, path);
    else fits = false;
  }
  const what = entries.length === 1 ? entries[0].item.name : plural(entries.length, "item");
  say(`${what} ${wanted ? "selected" : "removed"}. ${plural(chosen.size, "item")} selected.`);
  if (!fits) problem(`At most ${plural(most, "item")} can be selected. Select the folders that they lie in instead.`);
  showChosen();
  return fits;
}

function remove(item, index) {
  chosen.delete(item.id);
  say(`${item.name} removed. ${plural(chosen.size, "item")} selected.`);
  showChosen();
  redraw();
  const buttons = at("chosen").querySelectorAll("button");
  (buttons[Math.min(index, buttons.length - 1)] || at("list")).focus();
}

export function removeAll() {
  chosen.clear();
  say("Nothing is selected.");
  showChosen();
  redraw();
  at("list").focus();
}

function aboutOf(item) {
  const cover = coverOf(item.above || []);
  if (cover) return [`Already included by ${cover.name}`];
  return [item.folder ? "With everything below it" : size(item.size) || "One file", item.path || ""].filter(Boolean);
}

function entry(item, index) {
  const button = make("button", { type: "button" }, icon("remove"));
  button.setAttribute("aria-label", `Remove ${item.name || item.id}`);
  button.addEventListener("click", () => remove(item, index));
  const words = make("span", { className: "words" },
    make("span", { className: "name", textContent: item.name || item.id }),
    make("span", { className: "about", textContent: aboutOf(item).join(" · ") }));
  return make("li", {}, icon(iconOf(item)), words, button);
}

/** Says how much is selected: the provider tells sizes of files only, and not of all. */
function summary(items) {
  if (items.length === 0) return "Nothing selected";
  const folders = items.filter((item) => item.folder).length;
  const files = items.filter((item) => !item.folder);
  const bytes = files.reduce((sum, item) => sum + (item.size || 0), 0);
  const isPart = files.some((item) => item.size === null || item.size === undefined);
  const told = bytes > 0 ? ` (${isPart ? "at least " : ""}${size(bytes)})` : "";
  const parts = [folders && plural(folders, "folder"), files.length && plural(files.length, "file") + told];
  return `${parts.filter(Boolean).join(" and ")} selected`;
}

export function showChosen() {
  const items = [...chosen.values()];
  at("chosen").replaceChildren(...items.map(entry));
  keep(isChanged() && items);
  at("count").textContent = items.length.toLocaleString();
  at("sum").textContent = summary(items);
  at("nothing").hidden = items.length > 0;
  at("clear").hidden = items.length === 0;
  at("show").disabled = items.length === 0;
  at("save").disabled = busy || (items.length === 0 && !hadSelection);
}

export function lock(locked) {
  busy = locked;
  at("cancel").disabled = locked;
  showChosen();
}
