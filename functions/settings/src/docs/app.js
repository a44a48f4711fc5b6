// Renders the description of the interface. Every text is set as text and never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
// Schemas that contain themselves, such as filters, are shown to this depth.
const MAX_DEPTH = 6;
let description;

// Creates an element with attributes and children; strings become text.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return node;
}

// Returns an inline text in which `names` between backticks are code.
function inlineText(text) {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

// Returns paragraphs and lists of a description.
function paragraphs(text) {
  const block = element("div", { class: "text" });
  for (const part of (text || "").split("\n\n")) {
    const lines = part.split("\n");
    if (lines.every((line) => line.startsWith("- "))) {
      const items = lines.map((line) => element("li", {}, ...inlineText(line.slice(2))));
      block.append(element("ul", {}, ...items));
    } else if (part) {
      block.append(element("p", {}, ...inlineText(part)));
    }
  }
  return block;
}

// Follows references. Members beside a reference take precedence over those that it leads to.
function resolve(value) {
  let current = value || {};
  const names = [];
  while (current.$ref) {
    const { $ref, ...own } = current;
    names.push($ref);
    const target = $ref.slice(2).split("/").reduce((node, key) => node[key.replace(/~1/g, "/")], description);
    current = { ...target, ...own };
    if (target.properties && own.properties) current.properties = { ...target.properties, ...own.properties };
  }
  return { schema: current, names };
}

// Returns a schema without null, and whether it permits null.
function withoutNull(schema) {
  const parts = schema.anyOf || schema.oneOf;
  if (parts && parts.some((part) => part.type === "null")) {
    const rest = parts.filter((part) => part.type !== "null");
    const { anyOf, oneOf, ...own } = schema;
    return { schema: rest.length === 1 ? { ...rest[0], ...own } : { ...own, anyOf: rest }, nullable: true };
  }
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const kinds = schema.type.filter((kind) => kind !== "null");
    return { schema: { ...schema, type: kinds.length === 1 ? kinds[0] : kinds }, nullable: true };
  }
  return { schema, nullable: false };
}

// Returns a schema with references and null resolved, and the references on the way.
function open(value) {
  const first = resolve(value);
  const { schema, nullable } = withoutNull(first.schema);
  const second = resolve(schema);
  return { schema: second.schema, nullable, names: [...first.names, ...second.names] };
}

function typeName(value) {
  const { schema, nullable } = open(value);
  let name = [].concat(schema.type || (schema.properties ? "object" : "any")).join(" or ");
  if (schema.type === "array") name = `array of ${typeName(schema.items || {})}`;
  const parts = schema.anyOf || schema.oneOf;
  if (parts && !schema.type) name = [...new Set(parts.map(typeName))].join(" or ");
  if (schema.format) name += ` (${schema.format})`;
  return nullable ? `${name} or null` : name;
}

// Returns the limits of a value as one line.
function limits(value) {
  const { schema } = open(value);
  const found = [];
  const range = (low, high, unit) => {
    if (schema[low] !== undefined && schema[high] !== undefined) found.push(`${schema[low]} to ${schema[high]}${unit}`);
    else if (schema[low] !== undefined) found.push(`at least ${schema[low]}${unit}`);
    else if (schema[high] !== undefined) found.push(`at most ${schema[high]}${unit}`);
  };
  range("minimum", "maximum", "");
  range("minLength", "maxLength", " characters");
  range("minItems", "maxItems", " items");
  if (schema.const !== undefined) found.push(`always ${JSON.stringify(schema.const)}`);
  if (schema.enum) found.push(`one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}`);
  if (schema.pattern) found.push(`matches ${schema.pattern}`);
  if (schema.default !== undefined) found.push(`default ${JSON.stringify(schema.default)}`);
  return found.join("; ");
}

function field(name, value, required, depth, seen) {
  const { schema } = open(value);
  const badges = [];
  if (required) badges.push(" ", element("span", { class: "badge" }, "required"));
  if (schema.deprecated || value.deprecated) badges.push(" ", element("span", { class: "badge" }, "deprecated"));
  const term = element("dt", {}, element("code", {}, name), " ", element("span", { class: "quiet" }, typeName(value)), ...badges);
  const detail = element("dd", {}, paragraphs(value.description || schema.description));
  const limit = limits(value);
  if (limit) detail.append(element("p", { class: "quiet" }, limit));
  const inner = fields(value, depth + 1, seen);
  if (inner) detail.append(inner);
  return [term, detail];
}

// Returns the fields of an object, or of the objects in a list; null if there are none.
function fields(value, depth, seen) {
  const { schema, names } = open(value);
  if (depth > MAX_DEPTH || names.some((name) => seen.includes(name))) return null;
  const known = [...seen, ...names];
  if (schema.type === "array" && schema.items) return fields(schema.items, depth, known);
  const list = element("dl");
  for (const [name, part] of Object.entries(schema.properties || {})) {
    list.append(...field(name, part, (schema.required || []).includes(name), depth, known));
  }
  if (!schema.properties) {
    for (const part of schema.anyOf || schema.oneOf || []) {
      const inner = fields(part, depth + 1, known);
      if (inner) list.append(element("dt", {}, typeName(part)), element("dd", {}, inner));
    }
    if (schema.additionalProperties && schema.additionalProperties !== true) {
      list.append(...field("any name", schema.additionalProperties, false, depth, known));
    }
  }
  return list.childElementCount ? list : null;
}

function code(text) {
  const button = element("button", { class: "copy", type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text to copy it";
    }
  });
  return element("div", {}, element("pre", { tabindex: "0" }, element("code", {}, text)), button);
}

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function quoteForShell(text) {
  return `'${text.replace(/'/g, "'\\''")}'`;
}

// Returns the request of an operation as a command.
function curl(path, method, operation) {
  const origin = location.origin === "null" ? "http://127.0.0.1:8787" : location.origin;
  const base = location.pathname.replace(/\/docs\/?$/, "");
  const lines = [`curl -X ${method.toUpperCase()} ${quoteForShell(origin + base + path)}`];
  if (!operation.security || operation.security.length) lines.push('-H "Authorization: Bearer $RECOLLECT_KEY"');
  for (const [kind, content] of Object.entries(resolve(operation.requestBody).schema.content || {})) {
    if (kind === "multipart/form-data") {
      lines.push("-F 'file=@notes.txt'");
    } else if (content.example !== undefined) {
      lines.push(`-H 'Content-Type: ${kind}'`, `-d ${quoteForShell(JSON.stringify(content.example))}`);
    }
  }
  return lines.join(" \\\n  ");
}

function contents(answer) {
  return Object.entries(answer.content || {}).map(([kind, content]) => {
    const block = element("div", {}, element("p", { class: "quiet" }, `${kind}: ${typeName(content.schema)}`));
    const inner = fields(content.schema, 0, []);
    if (inner) block.append(element("details", {}, element("summary", {}, "Fields"), inner));
    if (content.example !== undefined) block.append(code(pretty(content.example)));
    return block;
  });
}

function showOperation(path, method, operation) {
  const id = operation.operationId;
  const article = element("article", { id, tabindex: "-1" },
    element("h3", {}, element("a", { href: `#${id}` }, operation.summary || id)),
    element("p", { class: "route" }, element("span", { class: `method ${method}` }, method.toUpperCase()), path,
      operation.deprecated ? element("span", { class: "badge" }, "deprecated") : ""),
    paragraphs(operation.description));

  const parameters = (operation.parameters || []).map((one) => resolve(one).schema);
  if (parameters.length) {
    const list = element("dl");
    for (const one of parameters) {
      const schema = { ...resolve(one.schema).schema, description: one.description };
      list.append(...field(`${one.name} (${one.in})`, schema, one.required, 0, []));
    }
    article.append(element("h4", {}, "Parameters"), list);
  }

  const body = resolve(operation.requestBody).schema;
  if (body.content) {
    article.append(element("h4", {}, body.required ? "Request body" : "Request body (optional)"));
    for (const content of Object.values(body.content)) {
      const { schema } = resolve(content.schema);
      article.append(paragraphs(schema.description), fields(content.schema, 0, []) || "");
    }
  }
  article.append(element("h4", {}, "Example"), code(curl(path, method, operation)));

  const answers = Object.entries(operation.responses || {}).map(([status, answer]) => [status, resolve(answer).schema]);
  article.append(element("h4", {}, "Answers"));
  for (const [status, answer] of answers.filter(([status]) => status < "400")) {
    article.append(element("p", {}, element("code", {}, status), " ", ...inlineText(answer.description)), ...contents(answer));
  }
  const errors = answers.filter(([status]) => status >= "400");
  if (errors.length) {
    const list = element("dl");
    for (const [status, answer] of errors) {
      list.append(element("dt", {}, element("code", {}, status)), element("dd", {}, ...inlineText(answer.description)));
    }
    article.append(element("details", {}, element("summary", {}, `Errors: ${errors.map(([status]) => status).join(", ")}`), list));
  }
  return article;
}

// Returns the operations by group, in the order of the groups.
function groupOperations() {
  const groups = new Map((description.tags || []).map((tag) => [tag.name, { text: tag.description, operations: [] }]));
  groups.set("Other", { text: "", operations: [] });
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const method of METHODS.filter((name) => methods[name])) {
      const operation = methods[method];
      const group = groups.get((operation.tags || [])[0]) || groups.get("Other");
      group.operations.push({ path, method, operation });
    }
  }
  return groups;
}

function render() {
  const main = document.getElementById("content");
  const menu = document.getElementById("menu");
  main.replaceChildren(element("section", {}, paragraphs(description.info.description)));
  const entries = [];
  for (const [name, group] of groupOperations()) {
    if (!group.operations.length) continue;
    const section = element("section", { "aria-label": name }, element("h2", {}, name), paragraphs(group.text));
    const list = element("ul");
    const heading = element("h2", {}, name);
    for (const { path, method, operation } of group.operations) {
      const article = showOperation(path, method, operation);
      const link = element("a", { href: `#${operation.operationId}` },
        element("span", { class: `method ${method}` }, method.toUpperCase()), path);
      const item = element("li", {}, link);
      const words = [method, path, name, operation.operationId, operation.summary, operation.description].join(" ").toLowerCase();
      entries.push({ article, item, link, words, section, heading });
      section.append(article);
      list.append(item);
    }
    main.append(section);
    menu.append(heading, list);
  }
  return entries;
}

function filterEntries(entries, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = new Set();
  let count = 0;
  for (const entry of entries) {
    const matches = words.every((word) => entry.words.includes(word));
    entry.article.hidden = entry.item.hidden = !matches;
    if (matches) {
      shown.add(entry.section);
      count += 1;
    }
  }
  for (const { section, heading } of entries) section.hidden = heading.hidden = !shown.has(section);
  document.getElementById("count").textContent = `${count} of ${entries.length} operations`;
}

// Shows the operation that the address names.
function follow(entries) {
  const id = decodeURIComponent(location.hash.slice(1));
  for (const { article, link } of entries) {
    if (article.id === id) {
      article.hidden = article.parentElement.hidden = false;
      link.setAttribute("aria-current", "true");
      article.scrollIntoView();
      article.focus({ preventScroll: true });
    } else {
      link.removeAttribute("aria-current");
    }
  }
}

async function start() {
  const input = document.getElementById("filter");
  const answer = await fetch("v3/openapi");
  if (!answer.ok) throw new Error(`/v3/openapi answered ${answer.status}`);
  description = await answer.json();
  const entries = render();
  filterEntries(entries, input.value);
  follow(entries);
  input.addEventListener("input", () => filterEntries(entries, input.value));
  addEventListener("hashchange", () => follow(entries));
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && document.activeElement === input) {
      input.value = "";
      filterEntries(entries, "");
    }
  });
}

start().catch((error) => {
  document.getElementById("content").replaceChildren(
    element("p", { role: "alert" }, `The description could not be loaded: ${error.message}. Reload the page to try again.`));
});
