/**
 * Creates elements. Texts only ever become text nodes or attributes, never markup, so that content of
 * strangers cannot become part of the page.
 */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Names that are set as properties, because the attribute is only their first value. */
const PROPERTIES = new Set(["value", "checked", "selected", "indeterminate", "htmlFor"]);

/**
 * Creates an HTML element.
 *
 * `on` has listeners by event, `data` has data attributes, and all else is an attribute: `true` is an
 * empty one, and `null`, `undefined` and `false` are left out. Children are nodes, texts, arrays of
 * them, or nothing.
 */
export function create(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Creates an SVG element, in the same way as `create`. */
export function createSvg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, name), attributes, children);
}

/** Puts children in the place of those that a node has. */
export function replace(node, ...children) {
  node.replaceChildren(...flatten(children));
  return node;
}

let lastId = 0;

/** Returns an id for an element that no other element of the page has. */
export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Returns a function that calls `action` once no call has come for `delay` milliseconds. */
export function debounce(action, delay = 200) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), delay);
  };
}

function fill(node, { on = {}, data = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    setAttribute(node, name, value);
  }
  for (const [name, value] of Object.entries(data)) {
    node.dataset[name] = value;
  }
  for (const [event, listener] of Object.entries(on)) {
    node.addEventListener(event, listener);
  }
  node.append(...flatten(children));
  return node;
}

function setAttribute(node, name, value) {
  if (PROPERTIES.has(name)) {
    node[name] = value ?? "";
  } else if (value === true) {
    node.setAttribute(name, "");
  } else if (value !== null && value !== undefined && value !== false) {
    node.setAttribute(name, value);
  }
}

function flatten(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
