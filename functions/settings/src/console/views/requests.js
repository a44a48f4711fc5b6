/** An editor for requests to the API, with the answer and the requests that were sent before. */

import { sendWritten } from "../api.js";
import { confirmAction } from "../components/dialog.js";
import { createJsonEditor, formatJson } from "../components/json-editor.js";
import { createJsonTree } from "../components/json-tree.js";
import { createTabs, moveByArrows } from "../components/keyboard.js";
import { load } from "../components/load.js";
import {
  createBadge,
  createButton,
  createCode,
  createCopyButton,
  createField,
  createHead,
  createSection,
  createSelect,
} from "../components/parts.js";
import { create, debounce, replace, uniqueId } from "../dom.js";
import { createTime, formatBytes, formatMilliseconds } from "../format.js";
import { forgetRequests, keepRequest, listRequests } from "../request-history.js";
import { createRequestTexts } from "../request-text.js";
import { fetchRoutes, METHODS } from "../routes.js";

/** The most characters of an answer that are shown as text. All of it can be copied. */
const MOST_CHARACTERS = 200_000;
const MOST_BODY_IN_LABEL = 60;
const FIRST_REQUEST = { method: "GET", path: "/v3/session", body: "" };

/** Shows the editor. A link can bring a request along, which is not sent before the person sends it. */
export function showRequests(page, { query, signal }) {
  const last = listRequests()[0] ?? FIRST_REQUEST;
  const start = query.path ? { method: "GET", body: "", ...query } : last;
  const answer = create("div", { class: "stack" });
  const texts = create("div", {});
  const past = create("div", { class: "stack" });
  const showTexts = debounce(() => replace(texts, createTexts(editor.read())));
  const showPast = () => replace(past, createPast(editor.write, showPast));

  const editor = createEditor(start, signal, showTexts, async (written, stop) => {
    await load(
      answer,
      { label: "the answer", signal: stop },
      () => sendWritten(written.method, written.path, { text: written.body, signal: stop }),
      (received) => {
        keepRequest({ ...written, status: received.status, at: new Date().toISOString() });
        showPast();
        return createAnswer(received);
      },
    );
  });
  replace(
    page,
    createHead("Requests", {
      text: "Send requests to the API with your session, see the answers, and copy them as programs.",
    }),
    editor.element,
    createSection("Answer", answer),
    createSection("Request", texts),
    createSection("Sent in this tab", past),
  );
  replace(answer, create("p", { class: "muted" }, "No request has been sent yet."));
  replace(texts, createTexts(editor.read()));
  showPast();
}

/** Creates the form. `send` gets the request and the signal that stops it. */
function createEditor(start, signal, onChange, send) {
  let routes = [];
  const method = createSelect(
    METHODS.map((name) => [name, name]),
    METHODS.includes(start.method) ? start.method : "GET",
    () => change(),
    { name: "method" },
  );
  const suggestions = create("datalist", { id: uniqueId("routes") });
  const path = create("input", {
    value: start.path,
    name: "path",
    class: "mono",
    required: true,
    list: suggestions.id,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    data: { search: "" },
  });
  const body = createJsonEditor("Body (JSON)", formatJson(start.body), () => onChange());
  const summary = create("p", { class: "help", role: "status" });
  const example = createButton("Use the example", () => body.setText(findRoute()?.example ?? ""), {
    kind: "small",
  });
  const button = create("button", { class: "button primary" }, "Send");
  const halt = createButton("Stop", () => stopper?.abort());
  let stopper = null;

  const read = () => ({
    method: method.value,
    path: path.value.trim(),
    body: method.value === "GET" ? "" : body.input.value.trim(),
  });
  const write = (written) => {
    method.value = written.method;
    path.value = written.path;
    body.setText(formatJson(written.body));
    change();
    path.focus();
  };
  const findRoute = () => {
    const written = read();
    const found = routes.find(
      (route) => route.method === written.method && matches(route.path, written.path),
    );
    return found && { ...found, example: found.example && JSON.stringify(found.example, null, 2) };
  };
  const change = () => {
    const route = findRoute();
    path.setCustomValidity(findPathProblem(path.value.trim()));
    body.element.hidden = method.value === "GET";
    example.hidden = method.value === "GET" || !route?.example;
    replace(summary, route?.summary);
    replace(suggestions, createSuggestions(routes, method.value));
    onChange();
  };
  const begin = async (written) => {
    stopper = new AbortController();
    button.disabled = true;
    halt.hidden = false;
    await send(written, AbortSignal.any([signal, stopper.signal]));
    const hadFocus = [halt, document.body].includes(document.activeElement);
    button.disabled = false;
    halt.hidden = true;
    if (hadFocus) {
      button.focus();
    }
  };
  const submit = (event) => {
    event.preventDefault();
    const written = read();
    if (button.disabled || (written.body && !body.check())) {
      return;
    }
    if (written.method === "DELETE") {
      askToDelete(written, () => begin(written));
    } else {
      begin(written);
    }
  };

  path.addEventListener("input", change);
  const element = create(
    "form",
    { class: "stack", on: { submit } },
    suggestions,
    create(
      "div",
      { class: "request-line" },
      createField("Method", method),
      createField("Path", path),
      create("div", { class: "actions" }, button, halt),
    ),
    create("div", { class: "actions" }, summary, example),
    body.element,
  );
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      element.requestSubmit();
    }
  });
  halt.hidden = true;
  change();
  fetchRoutes(signal).then((found) => {
    routes = found;
    change();
  });
  return { element, read, write };
}

/** Tells whether a path belongs to a route, whose parts in braces stand for any value. */
function matches(route, path) {
  const parts = route.split("/");
  const given = path.split("?")[0].split("/");
  return (
    parts.length === given.length &&
    parts.every((part, index) => part === given[index] || (part.startsWith("{") && given[index] !== ""))
  );
}

function findPathProblem(path) {
  const [placeholder] = path.match(/\{[^}]*\}/) ?? [];
  if (placeholder) {
    return `Put a value in place of ${placeholder}.`;
  }
  return path && !path.startsWith("/") ? "The path begins with a slash." : "";
}

function createSuggestions(routes, method) {
  return routes
    .filter((route) => route.method === method)
    .map((route) => create("option", { value: route.path }, route.summary));
}

function askToDelete({ method, path }, send) {
  confirmAction({
    title: "Send a request that deletes?",
    text: `${method} ${path}`,
    label: "Send it",
    afterwards: send,
  });
}

function createAnswer({ status, reason, type, text, bytes, milliseconds }) {
  const tone = status < 400 ? "good" : "bad";
  const facts = create(
    "p",
    { class: "facts", role: "status" },
    createBadge([status, reason].join(" ").trim(), tone),
    create("span", {}, formatMilliseconds(milliseconds)),
    create("span", {}, formatBytes(bytes)),
    create("span", { class: "muted wrap" }, type),
  );
  if (text === "") {
    return [facts, create("p", { class: "muted" }, "The answer has no body.")];
  }
  const copy = createCopyButton(() => formatJson(text), "Copy the answer");
  const createText = () => createLongCode(formatJson(text));
  const value = parseJson(text);
  const tabs =
    value === undefined
      ? createText()
      : createTabs("Forms of the answer", [
          { label: "Tree", create: () => createJsonTree(value) },
          { label: "Text", create: createText },
        ]);
  return [facts, tabs, create("div", { class: "actions" }, copy)];
}

function createLongCode(text) {
  return create(
    "div",
    { class: "code" },
    create(
      "pre",
      { tabindex: 0, role: "group", "aria-label": "Text of the answer" },
      text.slice(0, MOST_CHARACTERS),
    ),
    text.length > MOST_CHARACTERS && create("p", { class: "muted" }, "The rest is not shown, but copied."),
  );
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function createTexts({ method, path, body }) {
  const texts = createRequestTexts(method, path, parseJson(body));
  return createTabs(
    "Languages of the request",
    texts.map(({ label, text }) => ({ label, create: () => createCode(text, `${label} request`) })),
  );
}

function createPast(write, onForget) {
  const entries = listRequests();
  if (entries.length === 0) {
    return create("p", { class: "muted" }, "The last 20 requests appear here until the tab is closed.");
  }
  const items = entries.map((entry) =>
    create(
      "li",
      {},
      createButton(
        [
          create("span", { class: "cut mono", dir: "auto" }, describeRequest(entry)),
          create("span", { class: "muted" }, `${entry.status} · `, createTime(entry.at)),
        ],
        () => write(entry),
        { kind: "choice" },
      ),
    ),
  );
  const list = create("ul", { class: "choices" }, items);
  moveByArrows(list, "button");
  const forget = () => {
    forgetRequests();
    onForget();
  };
  return [
    list,
    create("div", { class: "actions" }, createButton("Forget these requests", forget, { kind: "small" })),
  ];
}

function describeRequest({ method, path, body }) {
  const begin = body.replaceAll(/\s+/g, " ").slice(0, MOST_BODY_IN_LABEL);
  return [method, path, begin].join(" ").trim();
}
