/** The navigation on the left: the container in use and its views, then those of the organization. */

import { request } from "../api.js";
import { create, debounce, replace } from "../dom.js";
import { formatCount } from "../format.js";
import { createIcon } from "../icons.js";
import { goTo, linkTo } from "../router.js";
import { getKeyName, getReachedContainers, isAdministrator } from "../session.js";
import { getTheme, setTheme } from "../theme.js";
import { openDialog } from "./dialog.js";
import { moveByArrows } from "./keyboard.js";
import { load } from "./load.js";
import { createButton, createField, createSelect } from "./parts.js";
import { signOut } from "./sign-in.js";

const STORED_CONTAINER = "recollect-container";
const CONTAINER_VIEWS = [
  ["documents", "Documents", "document", []],
  ["memories", "Memories", "memory", ["memories"]],
  ["graph", "Graph", "graph", ["graph"]],
  ["search", "Search", "search", ["search"]],
  ["profile", "Profile", "profile", ["profile"]],
];
const ORGANIZATION_VIEWS = [
  ["connections", "Connections", "connection"],
  ["keys", "Keys", "key"],
  ["analytics", "Analytics", "analytics"],
  ["settings", "Settings", "settings"],
];
const SHOWN_CONTAINERS = 50;

/**
 * Creates the navigation. Its `update` marks the view of a route, and remembers the container of it.
 */
export function createNavigation(firstContainer) {
  const views = create("div", {});
  const element = create(
    "nav",
    { class: "navigation", id: "navigation", "aria-label": "Console" },
    create("a", { class: "brand", href: linkTo([]) }, "Recollect"),
    views,
    createFoot(),
  );
  let container = sessionStorage.getItem(STORED_CONTAINER) ?? firstContainer;

  const update = (route) => {
    container = route.parameters.tag ?? container;
    if (container) {
      sessionStorage.setItem(STORED_CONTAINER, container);
    }
    replace(views, createViews(container, route.section));
  };
  return { element, update };
}

/** Opens a dialog in which a container is chosen, and calls `onChoose` with its tag. */
export function chooseContainer(onChoose) {
  openDialog({
    title: "Choose a container",
    content: (close) => {
      const list = create("ul", { class: "choices" });
      const choose = (tag) => {
        close();
        onChoose(tag);
      };
      const find = (text) =>
        load(
          list,
          { label: "containers" },
          () => findContainers(text.trim()),
          (namespaces) => createChoices(namespaces, text.trim(), choose),
        );
      const input = create("input", { type: "search", autofocus: true, data: { search: "" } });
      input.addEventListener(
        "input",
        debounce(() => find(input.value)),
      );
      input.addEventListener("keydown", (event) => {
        if (event.key === "ArrowDown") {
          event.preventDefault();
          list.querySelector("button")?.focus();
        }
      });
      moveByArrows(list, "button");
      find("");
      return [createField("Name of the container", input), list];
    },
  });
}

/** A key that is limited to containers has them in its session. */
async function findContainers(text) {
  const reached = getReachedContainers();
  if (reached) {
    return reached
      .filter((tag) => tag.toLowerCase().includes(text.toLowerCase()))
      .map((namespace) => ({ namespace }));
  }
  const { namespaces } = await request("GET", "/ns", { query: { q: text, limit: SHOWN_CONTAINERS } });
  return namespaces;
}

function createChoices(namespaces, text, choose) {
  const names = namespaces.map((item) => item.namespace);
  const items = namespaces.map((item) =>
    createChoice(
      item.namespace,
      item.documentCount === undefined ? "" : formatCount(item.documentCount, "document"),
      choose,
    ),
  );
  if (text && !names.includes(text) && !getReachedContainers()) {
    items.push(createChoice(text, "a new container: it is made when the first document is added", choose));
  }
  return items.length
    ? items
    : create("li", { class: "muted" }, "There is no container yet. Write a name for the first one.");
}

function createChoice(tag, text, choose) {
  return create(
    "li",
    {},
    createButton(
      [create("span", { class: "cut", dir: "auto" }, tag), create("span", { class: "muted" }, text)],
      () => choose(tag),
      { kind: "choice" },
    ),
  );
}

function createViews(container, section) {
  const containerLinks = CONTAINER_VIEWS.map(([name, label, icon, rest]) =>
    createLink(["containers", container, ...rest], label, icon, section === name),
  );
  const organizationLinks = ORGANIZATION_VIEWS.map(([name, label, icon]) =>
    createLink([name], label, icon, section === name),
  );
  return [
    create(
      "ul",
      {},
      createLink([], "Overview", "overview", section === "overview"),
      createLink(["requests"], "Requests", "request", section === "requests"),
    ),
    create("h2", { class: "nav-heading" }, "Container"),
    createButton(
      [
        createIcon("container"),
        create("span", { class: "cut", dir: "auto" }, container ?? "Choose one"),
        createIcon("open"),
      ],
      () => chooseContainer((tag) => goTo(["containers", tag])),
      {
        kind: "switch",
        title: container,
        "aria-label": container ? `Container ${container}. Change it` : "Choose one of the containers",
      },
    ),
    container && create("ul", {}, containerLinks),
    isAdministrator() && [
      create("h2", { class: "nav-heading" }, "Organization"),
      create("ul", {}, organizationLinks),
    ],
  ];
}

function createLink(parts, label, icon, isCurrent) {
  return create(
    "li",
    {},
    create("a", { href: linkTo(parts), "aria-current": isCurrent ? "page" : null }, createIcon(icon), label),
  );
}

function createFoot() {
  const themes = [
    ["system", "As the system"],
    ["light", "Light"],
    ["dark", "Dark"],
  ];
  return create(
    "div",
    { class: "nav-foot" },
    createField("Colours", createSelect(themes, getTheme(), setTheme)),
    create("p", { class: "muted cut" }, `Key ${getKeyName()}`),
    createButton("Use another key", signOut, { kind: "small" }),
  );
}
