"use strict";
// The picker's page. What comes from the drive is shown as text only, never as markup.
(() => {
  const base = document.body.dataset.base;
  const csrf = document.querySelector("meta[name=csrf]").content;
  const at = (id) => document.getElementById(id);
  const list = at("list");
  const roots = { my: "My drive", drives: "Shared drives", shared: "Shared with me" };
  const reasons = {
    unsupported_type: "This kind of file cannot be read",
    too_large: "Too large",
    not_downloadable: "Its owner does not allow downloads",
    genai_restricted: "Its owner does not allow use by language models",
    encrypted: "Encrypted by its owner",
    flagged_malware: "Held back by the provider as malware",
    shortcut: "A shortcut that leads nowhere",
    empty: "Empty",
  };
  const kinds = {
    "application/vnd.google-apps.document": ["Document", "text"],
    "application/vnd.google-apps.spreadsheet": ["Spreadsheet", "sheet"],
    "application/vnd.google-apps.presentation": ["Presentation", "slides"],
    "application/pdf": ["PDF", "text"],
  };
  // Where the user looks; `path` holds the folders from the root of the view.
  const place = { view: "my", path: [], query: "" };
  const chosen = new Map();
  let saved = "[]";
  let hadSelection = false;
  let most = 500;
  let shown = [];
  let next = null;
  // Answers to older questions are dropped.
  let asked = 0;
  let busy = false;
  // What was chosen and not saved, for a session that ends before: it belongs to one connection, and stays in this tab.
  let draft = "";

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

  function make(tag, fields, ...children) {
    const element = Object.assign(document.createElement(tag), fields);
    element.append(...children);
    return element;
  }

  function icon(name) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const use = document.createElementNS(space, "use");
    use.setAttribute("href", `#icon-${name}`);
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    svg.append(use);
    return svg;
  }

  function say(text) {
    at("status").textContent = text;
  }

  async function call(method, path, body) {
    const headers = { "x-csrf-token": csrf, accept: "application/json" };
    if (body) headers["content-type"] = "application/json";
    let answer;
    try {
      answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" });
    } catch {
      throw new Error("There is no connection to this service.");
    }
    const content = await answer.json().catch(() => ({}));
    if (answer.ok) return content;
    // Links work once: only whoever sent this one can make another.
    if (answer.status === 401) {
      throw Object.assign(new Error("Your session has ended. Ask for a new link; what you selected is kept in this tab."), { over: true });
    }
    if (answer.status === 403) {
      throw Object.assign(new Error("Another picker was opened in this browser since. Go on there, or ask for a new link."), { over: true });
    }
    if (answer.status === 429 || answer.status >= 500) throw new Error("The drive does not answer right now. Try again in a moment.");
    throw Object.assign(new Error(content.error || "This did not work."), { status: answer.status });
  }

  function plural(count, one, many) {
    return `${count.toLocaleString()} ${count === 1 ? one : many}`;
  }

  function size(bytes) {
    if (bytes === null || bytes === undefined) return "";
    const units = ["B", "KB", "MB", "GB", "TB"];
    let step = 0;
    for (; bytes >= 1000 && step < units.length - 1; step += 1) bytes /= 1000;
    return `${bytes.toLocaleString(undefined, { maximumFractionDigits: bytes < 10 && step > 0 ? 1 : 0 })} ${units[step]}`;
  }

  function describe(item) {
    if (item.reason) return [reasons[item.reason] || "Cannot be read"];
    const kind = item.type === "folder" ? (item.isDrive ? "Shared drive" : "Folder") : item.type === "shortcut" ? "Shortcut" : (kinds[item.mimeType] || ["File"])[0];
    const date = new Date(item.modifiedAt);
    const changed = Number.isNaN(date.getTime()) || date.getTime() <= 0 || item.isDrive ? "" : `changed ${date.toLocaleDateString()}`;
    return [kind, size(item.size), changed, item.owner || ""].filter(Boolean);
  }

  function iconOf(item) {
    if (item.type === "folder" || item.folder) return item.isDrive ? "drive" : "folder";
    if (item.type === "shortcut") return "shortcut";
    return (kinds[item.mimeType] || ["", "file"])[1];
  }

  // The selected folder that the present place lies in.
  function cover() {
    return place.path.find((folder) => chosen.has(folder.id));
  }

  function row(item) {
    const above = cover();
    const box = make("input", { type: "checkbox", checked: Boolean(above) || chosen.has(item.id), disabled: Boolean(above) || !item.selectable });
    const about = above ? [`Included by the folder ${above.name}`] : describe(item);
    const words = make("span", { className: "words" },
      make("span", { className: "name", textContent: item.name }),
      make("span", { className: "about", textContent: about.join(" · ") }));
    const line = make("li", {}, make("label", {}, box, icon(iconOf(item)), words));
    line.classList.toggle("ticked", box.checked);
    line.classList.toggle("out", box.disabled);
    box.addEventListener("change", () => {
      if (!choose(item, box.checked)) box.checked = false;
      line.classList.toggle("ticked", box.checked);
    });
    if (item.type === "folder" && item.selectable) {
      const open = make("button", { type: "button" }, make("span", { textContent: "Open" }), icon("open"));
      open.setAttribute("aria-label", `Open ${item.name}`);
      open.addEventListener("click", () => enter(item));
      line.append(open);
    }
    return line;
  }

  function choose(item, wanted) {
    problem("");
    if (wanted && !chosen.has(item.id) && chosen.size >= most) {
      problem(`At most ${most.toLocaleString()} items can be selected. Select the folders that they lie in instead.`);
      return false;
    }
    if (wanted) {
      chosen.set(item.id, { id: item.id, name: item.name, folder: item.type === "folder", drive: item.driveId || undefined, isDrive: item.isDrive, mimeType: item.mimeType, type: item.type });
    } else {
      chosen.delete(item.id);
    }
    say(`${item.name} ${wanted ? "selected" : "removed"}. ${plural(chosen.size, "item", "items")} selected.`);
    showChosen();
    return true;
  }

  function toSend() {
    return [...chosen.values()].map(({ id, name, folder, drive }) => ({ id, name, folder, drive }));
  }

  function isChanged() {
    return JSON.stringify(toSend()) !== saved;
  }

  function showChosen() {
    const entries = [...chosen.values()];
    at("chosen").replaceChildren(...entries.map((item, index) => {
      const remove = make("button", { type: "button" }, icon("remove"));
      remove.setAttribute("aria-label", `Remove ${item.name}`);
      remove.addEventListener("click", () => {
        chosen.delete(item.id);
        say(`${item.name} removed. ${plural(chosen.size, "item", "items")} selected.`);
        showChosen();
        showItems();
        const buttons = at("chosen").querySelectorAll("button");
        (buttons[Math.min(index, buttons.length - 1)] || list).focus();
      });
      const words = make("span", { className: "words" },
        make("span", { className: "name", textContent: item.name || item.id }),
        make("span", { className: "about", textContent: item.folder ? "With everything below it" : "One file" }));
      return make("li", {}, icon(iconOf(item)), words, remove);
    }));
    keep(isChanged() && entries);
    at("count").textContent = entries.length.toLocaleString();
    at("nothing").hidden = entries.length > 0;
    at("save").disabled = busy || (entries.length === 0 && !hadSelection);
  }

  function showItems() {
    list.replaceChildren(...shown.map(row));
  }

  function showPlace() {
    for (const button of document.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === place.view && !place.query));
    }
    const steps = place.query ? [{ name: `Results for “${place.query}”` }] : [{ name: roots[place.view], depth: 0 }, ...place.path.map((folder, index) => ({ name: folder.name, depth: index + 1 }))];
    at("crumbs").replaceChildren(...steps.map((step, index) => {
      if (index === steps.length - 1) {
        const here = make("span", { textContent: step.name, tabIndex: -1, id: "here" });
        here.setAttribute("aria-current", "location");
        return make("li", {}, here);
      }
      const back = make("button", { type: "button", textContent: step.name });
      back.addEventListener("click", () => {
        place.path = place.path.slice(0, step.depth);
        load(true);
      });
      return make("li", {}, back);
    }));
  }

  function enter(folder) {
    place.path = place.query ? [folder] : [...place.path, folder];
    place.query = "";
    at("query").value = "";
    load(true);
  }

  function notice(text, canRetry) {
    at("notice").hidden = !text;
    at("notice-text").textContent = text;
    at("retry").hidden = !canRetry;
  }

  function problem(text) {
    at("problem").hidden = !text;
    at("problem").textContent = text;
  }

  function whyEmpty(areDrives) {
    if (next) return "Nothing so far that can be read.";
    if (place.query) return "Nothing has these words in its name.";
    return areDrives ? "There are no shared drives." : "There is nothing here.";
  }

  // Pages without anything to show after which a person decides whether to go on.
  const MOST_EMPTY = 5;

  function focusRow(index) {
    const row = list.children[index];
    const there = row && row.querySelector("input:not(:disabled), button");
    (there || list).focus();
  }

  async function load(moveFocus, more, empty = 0) {
    asked += 1;
    const mine = asked;
    const parent = place.path[place.path.length - 1];
    const parameters = new URLSearchParams({ view: place.view });
    if (place.query) parameters.set("q", place.query);
    else if (parent) parameters.set("parent", parent.id);
    if (more) parameters.set("pageToken", next);
    notice("", false);
    list.setAttribute("aria-busy", "true");
    at("empty").hidden = true;
    at("more").disabled = true;
    if (!more) {
      shown = [];
      next = null;
      at("more").hidden = true;
      showPlace();
      showItems();
      say("Loading");
    }
    try {
      const answer = await call("GET", `/api/items?${parameters}`);
      if (mine !== asked) return;
      const areDrives = place.view === "drives" && !parent && !place.query;
      const fresh = answer.items.map((item) => ({ ...item, isDrive: areDrives }));
      const known = new Set(shown.map((item) => item.id));
      const before = shown.length;
      shown = shown.concat(fresh.filter((item) => !known.has(item.id)));
      next = answer.nextPageToken;
      if (more) list.append(...shown.slice(before).map(row));
      else showItems();
      at("empty").hidden = shown.length > 0;
      at("empty").textContent = whyEmpty(areDrives);
      say(`${plural(shown.length, "item", "items")}${next ? ", and more" : ""}.${answer.incomplete ? " Some may be missing." : ""}`);
      if (moveFocus && at("here")) at("here").focus();
      if (more && !empty) focusRow(before);
      // What is left out may fill a page.
      if (shown.length === 0 && next && empty < MOST_EMPTY) return load(false, true, empty + 1);
    } catch (error) {
      if (mine !== asked) return;
      // A listing that has changed meanwhile begins again.
      if (error.status === 400 && more) next = null;
      notice(error.message, !error.over);
      if (more) at("retry").focus();
    } finally {
      if (mine === asked) {
        list.setAttribute("aria-busy", "false");
        at("more").hidden = !next;
        at("more").disabled = false;
      }
    }
  }

  function lock(locked) {
    busy = locked;
    at("cancel").disabled = locked;
    showChosen();
  }

  function leave(answer, title, text) {
    keep(null);
    if (answer.redirectTo) {
      window.location.assign(answer.redirectTo);
      return;
    }
    const heading = make("h2", { textContent: title, tabIndex: -1 });
    const details = make("dl", {});
    const { email, containerTag, id } = answer.connection;
    for (const [name, value] of [["Account", email], ["Space", containerTag], ["Connection", id]]) {
      if (value) details.append(make("dt", { textContent: name }), make("dd", { textContent: value }));
    }
    at("main").replaceChildren(make("section", { className: "done" }, heading, make("p", { textContent: text }), details));
    document.querySelector("footer").hidden = true;
    heading.focus();
  }

  async function save() {
    const question = "Nothing is selected. Documents that were synced by this connection will be removed. Save anyway?";
    if (chosen.size === 0 && !window.confirm(question)) return;
    problem("");
    lock(true);
    say("Saving");
    try {
      const items = toSend();
      if (!hadSelection || isChanged()) await call("PUT", "/api/selection", { items });
      saved = JSON.stringify(items);
      hadSelection = true;
      leave(await call("POST", "/api/complete", {}), "Saved", "What you selected is being synced now. You can close this page.");
    } catch (error) {
      problem(error.message);
      lock(false);
      at("save").focus();
    }
  }

  async function cancel() {
    if (isChanged() && !window.confirm("Leave without saving what you selected?")) return;
    lock(true);
    try {
      leave(await call("POST", "/api/complete", { cancelled: true }), "Nothing was changed", "You can close this page.");
    } catch (error) {
      problem(error.message);
      lock(false);
      at("cancel").focus();
    }
  }

  // Arrow keys go from row to row, in the column of what has the focus.
  list.addEventListener("keydown", (event) => {
    const line = event.target.closest("li");
    const lines = [...list.children];
    const here = lines.indexOf(line);
    const there = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: lines.length - 1 }[event.key];
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

  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      Object.assign(place, { view: button.dataset.view, path: [], query: "" });
      at("query").value = "";
      load(false);
    });
  }
  at("search").addEventListener("submit", (event) => {
    event.preventDefault();
    place.query = at("query").value.trim();
    if (place.query) place.path = [];
    load(false);
  });
  at("more").addEventListener("click", () => load(false, true));
  at("retry").addEventListener("click", () => load(true, shown.length > 0 && next !== null));
  at("save").addEventListener("click", save);
  at("cancel").addEventListener("click", cancel);

  async function begin() {
    try {
      const { connection, items, limit } = await call("GET", "/api/selection");
      for (const item of items) chosen.set(item.id, item);
      saved = JSON.stringify(toSend());
      hadSelection = items.length > 0;
      draft = `selection of ${connection.id}`;
      const before = kept();
      if (before) {
        chosen.clear();
        for (const item of before) chosen.set(item.id, item);
      }
      most = limit;
      const whose = connection.email ? `Account: ${connection.email}. ` : "";
      at("about").textContent = `${whose}Organization: ${connection.organization}. Space: ${connection.containerTag}. Only what you choose here is copied and kept up to date; nothing in your drive is changed.`;
      at("limit").textContent = `This connection takes at most ${plural(connection.documentLimit, "document", "documents")}, the newest first.`;
      showChosen();
      await load(false);
    } catch (error) {
      list.setAttribute("aria-busy", "false");
      notice(error.message, false);
    }
  }
  begin();
})();
