/** Starts the console: signs in, builds the frame of the page, and shows the views. */

import { onSignInNeeded, request, resumeSession } from "./api.js";
import { signIn } from "./components/sign-in.js";
import { createErrorBox } from "./components/load.js";
import { getNoticeRegion } from "./components/notice.js";
import { createNavigation } from "./components/navigation.js";
import { create, replace } from "./dom.js";
import { createIcon } from "./icons.js";
import { addRoute, startRouter } from "./router.js";
import { getReachedContainers, setSession } from "./session.js";
import { applyTheme } from "./theme.js";
import { showAnalytics } from "./views/analytics.js";
import { showConnection, showConnections } from "./views/connections.js";
import { showContainer } from "./views/container.js";
import { showDocument } from "./views/document.js";
import { showGraph } from "./views/graph.js";
import { showKeys } from "./views/keys.js";
import { showMemories } from "./views/memories.js";
import { showOverview } from "./views/overview.js";
import { showProfile } from "./views/profile.js";
import { showRequests } from "./views/requests.js";
import { showSearch } from "./views/search.js";
import { showSettings } from "./views/settings.js";

addRoute("", showOverview, "overview");
addRoute("containers/:tag", showContainer, "documents");
addRoute("containers/:tag/documents/:id", showDocument, "documents");
addRoute("containers/:tag/memories", showMemories, "memories");
addRoute("containers/:tag/graph", showGraph, "graph");
addRoute("containers/:tag/search", showSearch, "search");
addRoute("containers/:tag/profile", showProfile, "profile");
addRoute("connections", showConnections, "connections");
addRoute("connections/:id", showConnection, "connections");
addRoute("keys", showKeys, "keys");
addRoute("analytics", showAnalytics, "analytics");
addRoute("requests", showRequests, "requests");
addRoute("settings", showSettings, "settings");

async function start() {
  applyTheme();
  onSignInNeeded(async () =>
    setSession(await signIn("The key is missing, wrong or expired. Sign in again to go on.")),
  );
  try {
    setSession((await resumeSession()) ?? (await signIn("Sign in with an API key.")));
    await showConsole();
  } catch (error) {
    replace(
      document.body,
      create(
        "main",
        { class: "main" },
        create("div", { class: "page" }, create("h1", {}, "Recollect"), createErrorBox(error, start)),
      ),
    );
  }
}

async function showConsole() {
  const main = create("main", { class: "main", id: "main", tabindex: "-1" });
  const navigation = createNavigation(await chooseFirstContainer());
  const skip = create(
    "a",
    { class: "skip", href: "#main", on: { click: (event) => skipTo(event, main) } },
    "Skip to the content",
  );
  const menu = create(
    "button",
    { type: "button", class: "button quiet", "aria-expanded": "false", "aria-controls": "navigation" },
    createIcon("menu"),
    "Menu",
  );
  const frame = create(
    "div",
    { class: "frame" },
    create("header", { class: "top" }, menu, create("span", { class: "brand" }, "Recollect")),
    navigation.element,
    main,
  );
  const setOpen = (isOpen) => {
    frame.classList.toggle("open", isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
  };
  menu.addEventListener("click", () => setOpen(!frame.classList.contains("open")));

  replace(document.body, skip, frame, getNoticeRegion());
  document.addEventListener("keydown", (event) => handleKey(event, () => setOpen(false)));
  startRouter(main, (route) => {
    setOpen(false);
    navigation.update(route);
  });
}

/** Returns the container whose views the navigation offers first. */
async function chooseFirstContainer() {
  const reached = getReachedContainers();
  if (reached?.length) {
    return reached[0];
  }
  const { namespaces } = await request("GET", "/ns", { query: { limit: 1 } });
  return namespaces[0]?.namespace ?? null;
}

function skipTo(event, main) {
  event.preventDefault();
  main.focus();
}

function handleKey(event, closeMenu) {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    const search = document.querySelector("dialog[open] [data-search], main [data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  } else if (event.key === "Escape") {
    closeMenu();
  }
}

start();
