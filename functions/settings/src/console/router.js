/**
 * Shows the view that the fragment of the address asks for, such as `#/containers/me?page=2`.
 *
 * A view is a function that gets an empty element and a route: the parts of the path, the query, and
 * a signal that is aborted when the person leaves the view.
 */

import { create, replace } from "./dom.js";

const routes = [];
let leave = new AbortController();
let isFirst = true;

/** Adds a view for a pattern such as `containers/:tag`. */
export function addRoute(pattern, view, section) {
  routes.push({ parts: splitPath(pattern), view, section });
}

/** Shows views in `outlet` from now on. `onChange` is called with each route before its view. */
export function startRouter(outlet, onChange) {
  const show = () => showRoute(outlet, onChange);
  window.addEventListener("hashchange", show);
  show();
}

/** Returns the address of a view. Values of the path are encoded. */
export function linkTo(parts, query = {}) {
  const path = parts.map(encodeURIComponent).join("/");
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  return `#/${path}${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`;
}

/** Goes to a view. */
export function goTo(parts, query) {
  location.hash = linkTo(parts, query);
}

/**
 * Writes the state of a view into the address without showing the view anew. Does nothing if the person has left the
 * view, as after a fast click while a search waits for the next letter.
 */
export function rememberQuery(parts, query) {
  const [path] = location.hash.split("?");
  if (decodePart(path) === decodePart(linkTo(parts))) {
    history.replaceState(null, "", linkTo(parts, query));
  }
}

function showRoute(outlet, onChange) {
  leave.abort();
  leave = new AbortController();
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = splitPath(path).map(decodePart);
  const route = routes.find((candidate) => matches(candidate.parts, parts)) ?? routes[0];
  const state = {
    section: route.section,
    parameters: readParameters(route.parts, parts),
    query: Object.fromEntries(new URLSearchParams(search)),
    signal: leave.signal,
  };

  onChange(state);
  const page = create("div", { class: "page" });
  replace(outlet, page);
  route.view(page, state);
  if (!isFirst) {
    window.scrollTo(0, 0);
    focusHeading(page);
  }
  isFirst = false;
}

function focusHeading(page) {
  const heading = page.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}

function matches(pattern, parts) {
  return (
    pattern.length === parts.length &&
    pattern.every((part, index) => part.startsWith(":") || part === parts[index])
  );
}

function readParameters(pattern, parts) {
  const named = pattern.map((part, index) => [part.slice(1), parts[index], part.startsWith(":")]);
  return Object.fromEntries(named.filter(([, , isNamed]) => isNamed));
}

function splitPath(path) {
  return path.split("/").filter(Boolean);
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
