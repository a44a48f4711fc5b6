// What is selected: kept in this tab until it is saved, shown beside the list and in the bar at the bottom.
import { tellState } from "./frame.js";
import { at, icon, iconOf, make, plural, problem, say, size } from "./parts.js";

const chosen = new Map();
// What is left out of the selected folders.
const excluded = new Map();
let saved = "";
let hadSelection = false;
let most = 500;
let busy = false;
// What was selected and not saved, for a session that ends before. It belongs to one connection.
let draft = "";
// Redraws the list when the selection changes beside it.
let redraw = () => {};

export const isChosen = (id) => chosen.has(id);
export const isExcluded = (id) => excluded.has(id);
export const wasSavedBefore = () => hadSelection;
export const isEmpty = () => chosen.size === 0;

/** The selected folder that an item lies in, as far as the folders above it are known. */
export function coverOf(above) {
  const id = above.find((folder) => chosen.has(folder));
  return id && chosen.get(id);
}

/** The excluded folder that an item lies in, as far as the folders above it are known. */
export function exclusionOf(above) {
  const id = above.find((folder) => excluded.has(folder));
  return id && excluded.get(id);
}

/** The number of items that are known to lie in a folder. */
const countIn = (items, folder) => [...items.values()].filter(({ above = [] }) => above.includes(folder)).length;
export const countWithin = (folder) => countIn(chosen, folder);
export const countLeftOut = (folder) => countIn(excluded, folder);
export const counts = () => ({ items: chosen.size, excluded: excluded.size });

export function toSend() {
  return {
    items: [...chosen.values()].map(({ id, name, folder, drive }) => ({ id, name, folder, drive })),
    excluded: [...excluded.values()].map(({ id, name, folder, above }) => ({ id, name, folder, above })),
  };
}

/** Tells one selection from another. That the folders above an item become known is no change. */
function digest() {
  return JSON.stringify([toSend().items, [...excluded.keys()]]);
}

export const isChanged = () => digest() !== saved;

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
export function begin({ connection, items, excluded: leftOut = [], places = {}, limit }, onChange) {
  for (const item of items) {
    const place = places[item.id] || {};
    const path = (place.path || "").split("/").filter(Boolean).join(" / ");
    chosen.set(item.id, { ...item, above: place.chain || [], path });
  }
  for (const item of leftOut) excluded.set(item.id, { ...item, above: item.above || [] });
  saved = digest();
  hadSelection = items.length > 0;
  most = limit;
  redraw = onChange;
  draft = `selection of ${connection.id}`;
  const before = kept();
  if (before) {
    restore(chosen, before.chosen);
    restore(excluded, before.excluded);
  }
  showChosen();
}

function restore(items, before = []) {
  items.clear();
  for (const item of before) items.set(item.id, item);
}

export function markSaved() {
  saved = digest();
  hadSelection = true;
  keep(null);
}

export const forget = () => keep(null);

/** Remembers the folders above a selected or excluded item once the list shows them. */
export function learn(item, above) {
  const known = chosen.get(item.id) || excluded.get(item.id);
  if (known && above.length > (known.above || []).length) known.above = above;
}

function add(item, above, path) {
  const { id, name, isDrive, mimeType, type } = item;
  const folder = type === "folder";
  chosen.set(id, { id, name, folder, drive: item.driveId || undefined, isDrive, mimeType, type, size: item.size, above, path });
}

function exclude(item, above, path) {
  const { id, name, mimeType, type } = item;
  excluded.set(id, { id, name, folder: type === "folder", mimeType, type, above, path });
}

/** Takes back what is left out below a folder. */
function includeBelow(folder) {
  for (const { id, above } of excluded.values()) {
    if (above.includes(folder)) excluded.delete(id);
  }
}

/** Selects an item or removes it. In a selected folder it is included or left out. Returns false if there is no room. */
function chooseOne({ item, above, path }, wanted) {
  const isCovered = Boolean(coverOf(above));
  const isNew = isCovered ? !wanted && !excluded.has(item.id) : wanted && !chosen.has(item.id);
  if (isNew && (isCovered ? excluded : chosen).size >= most) return false;
  includeBelow(item.id);
  if (!wanted) chosen.delete(item.id);
  if (isCovered && wanted) excluded.delete(item.id);
  else if (isCovered) exclude(item, above, path);
  else if (isNew) add(item, above, path);
  return true;
}

/** Selects items or removes them. Returns false if there was no room for all of them. */
export function choose(entries, wanted) {
  problem("");
  const fits = entries.map((entry) => chooseOne(entry, wanted)).every(Boolean);
  const what = entries.length === 1 ? entries[0].item.name : plural(entries.length, "item");
  say(`${what} ${wanted ? "selected" : "removed"}. ${summary()}.`);
  if (!fits) problem(`At most ${plural(most, "item")} can be selected, and as many left out. Use the folders that they lie in instead.`);
  showChosen();
  return fits;
}

function remove(item, index) {
  chosen.delete(item.id);
  if (!coverOf(item.above || [])) includeBelow(item.id);
  afterEntry(`${item.name} removed`, index);
}

function include(item, index) {
  excluded.delete(item.id);
  afterEntry(`${item.name} included again`, index);
}

function afterEntry(what, index) {
  say(`${what}. ${summary()}.`);
  showChosen();
  redraw();
  const buttons = at("chosen").querySelectorAll("button");
  (buttons[Math.min(index, buttons.length - 1)] || at("list")).focus();
}

export function removeAll() {
  chosen.clear();
  excluded.clear();
  say("Nothing is selected.");
  showChosen();
  redraw();
  at("list").focus();
}

function aboutOf(item) {
  const cover = coverOf(item.above || []);
  const exclusion = exclusionOf(item.above || []);
  if (exclusion) return [`Left out with ${exclusion.name}`];
  if (cover) return [`Already included by ${cover.name}`];
  return [item.folder ? "With everything below it" : size(item.size) || "One file", item.path || ""].filter(Boolean);
}

function entry(item, about, label, onClick) {
  const name = item.name || item.id;
  const button = make("button", { type: "button" }, icon("remove"));
  button.setAttribute("aria-label", `${label} ${name}`);
  button.title = label;
  button.addEventListener("click", onClick);
  const words = make("span", { className: "words" },
    make("span", { className: "name", textContent: name }),
    make("span", { className: "about", textContent: about.join(" · ") }));
  return make("li", {}, icon(iconOf(item)), words, button);
}

function chosenEntry(item, index) {
  return entry(item, aboutOf(item), "Remove", () => remove(item, index));
}

function excludedEntry(item, index) {
  const cover = coverOf(item.above);
  const about = [cover ? `Left out of ${cover.name}` : "Left out", item.path || ""].filter(Boolean);
  const line = entry(item, about, "Include again:", () => include(item, chosen.size + index));
  line.classList.add("left-out");
  return line;
}

/** Says how much is selected: the provider tells sizes of files only, and not of all. */
function summary() {
  const items = [...chosen.values()];
  if (items.length === 0) return "Nothing selected";
  const folders = items.filter((item) => item.folder).length;
  const files = items.filter((item) => !item.folder);
  const bytes = files.reduce((sum, item) => sum + (item.size || 0), 0);
  const isPart = files.some((item) => item.size === null || item.size === undefined);
  const told = bytes > 0 ? ` (${isPart ? "at least " : ""}${size(bytes)})` : "";
  const parts = [folders && plural(folders, "folder"), files.length && plural(files.length, "file") + told];
  const out = excluded.size > 0 ? `, ${excluded.size.toLocaleString()} left out` : "";
  return `${parts.filter(Boolean).join(" and ")} selected${out}`;
}

export function showChosen() {
  const items = [...chosen.values()];
  const leftOut = [...excluded.values()];
  at("chosen").replaceChildren(...items.map(chosenEntry), ...leftOut.map(excludedEntry));
  keep(isChanged() && { chosen: items, excluded: leftOut });
  at("count").textContent = items.length.toLocaleString();
  at("sum").textContent = summary();
  at("nothing").hidden = items.length > 0;
  at("clear").hidden = items.length === 0;
  at("show").disabled = items.length === 0;
  at("save").disabled = busy || (items.length === 0 && !hadSelection);
  tellState("selected", counts());
}

export function lock(locked) {
  busy = locked;
  at("cancel").disabled = locked;
  showChosen();
}
