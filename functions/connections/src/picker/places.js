// Where the user looks, and what the page has seen of the drive: the provider tells the parent of an item and not
// its path, so the path is known as far as the folders above were seen.

export const roots = { my: "My drive", drives: "Shared drives", shared: "Shared with me" };

// The place on the screen. `path` holds the folders from the root of the view; a search keeps the place it began at.
export const place = { view: "my", path: [], query: "" };

// Everything that was listed, by id, and the id of the folder that stands for "My drive".
const seen = new Map();
let ownRoot = null;

export const here = () => place.path[place.path.length - 1];

/** Notes what a listing shows. */
export function see(items) {
  const folder = here();
  // A page that was loaded anew knows the folders of its path by name only.
  place.path.forEach(({ id, name }, index) => {
    const item = { id, name, type: "folder" };
    if (!seen.has(id)) seen.set(id, { item, parent: index > 0 ? place.path[index - 1].id : null });
  });
  for (const item of items) {
    const isTop = place.view === "my" && !place.query && !folder;
    if (isTop && item.parentId) ownRoot = item.parentId;
    const parent = !place.query && folder ? folder.id : item.parentId;
    seen.set(item.id, { item, view: place.view, parent });
  }
}

/** The folders above an item, the nearest last, and whether they begin at a root. */
function climb(id) {
  const folders = [];
  const passed = new Set([id]);
  let parent = (seen.get(id) || {}).parent;
  while (parent && parent !== ownRoot && !passed.has(parent)) {
    passed.add(parent);
    const above = seen.get(parent);
    if (!above) return { folders, parent, isWhole: false };
    folders.unshift({ id: parent, name: above.item.name });
    parent = above.parent;
  }
  return { folders, parent, isWhole: true };
}

/** The ids of the known folders above an item. */
export function idsAbove(item) {
  const { folders, parent } = climb(item.id);
  return folders.map((folder) => folder.id).concat(parent ? [parent] : []);
}

/** The path of the folder that an item is in, as far as it is known; "" if nothing is. */
export function pathOf(item) {
  const { folders, parent, isWhole } = climb(item.id);
  if (folders.length === 0 && !(isWhole && parent)) return "";
  const top = isWhole ? (parent === ownRoot && parent ? roots.my : "") : "…";
  return [top, ...folders.map((folder) => folder.name)].filter(Boolean).join(" / ");
}

/** The path that leads into a folder of the list. */
export function pathInto(folder, trail) {
  const above = place.query || !trail ? climb(folder.id).folders : trail;
  return [...above, { id: folder.id, name: folder.name }];
}

/** Items of the view that were seen and have the text anywhere in their names, which the provider does not look for. */
export function recall(query, view) {
  const text = query.toLocaleLowerCase();
  return [...seen.values()]
    .filter((entry) => entry.view === view && entry.item.name.toLocaleLowerCase().includes(text))
    .map((entry) => entry.item);
}

/** Goes to another place, as a step that the browser's Back takes back unless it replaces the last one. */
export function go(next, isReplaced = false) {
  Object.assign(place, next);
  const state = { view: place.view, path: place.path, query: place.query };
  if (isReplaced) history.replaceState({ ...history.state, ...state }, "");
  else history.pushState({ ...state, isSearch: Boolean(place.query) }, "");
}

/** Comes to the place of a step of the history. */
export function restore(state) {
  const { view = "my", path = [], query = "" } = state || {};
  Object.assign(place, { view: roots[view] ? view : "my", path: Array.isArray(path) ? path : [], query });
}
