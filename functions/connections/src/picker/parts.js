// What the other files share: words, icons, elements and requests. Nothing here knows of the page's state.

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

// The beginning of a MIME type, the word for it, and its icon. The first that fits counts.
const kinds = [
  ["application/vnd.google-apps.document", "Document", "text"],
  ["application/vnd.google-apps.spreadsheet", "Spreadsheet", "sheet"],
  ["application/vnd.google-apps.presentation", "Presentation", "slides"],
  ["application/pdf", "PDF", "pdf"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml", "Word document", "text"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml", "Excel workbook", "sheet"],
  ["application/vnd.openxmlformats-officedocument.presentationml", "PowerPoint presentation", "slides"],
  ["application/vnd.oasis.opendocument.text", "Document", "text"],
  ["application/vnd.oasis.opendocument.spreadsheet", "Spreadsheet", "sheet"],
  ["application/vnd.oasis.opendocument.presentation", "Presentation", "slides"],
  ["application/msword", "Word document", "text"],
  ["application/vnd.ms-excel", "Excel workbook", "sheet"],
  ["application/vnd.ms-powerpoint", "PowerPoint presentation", "slides"],
  ["application/rtf", "Document", "text"],
  ["application/epub", "E-book", "text"],
  ["application/json", "Data", "code"],
  ["application/xml", "Data", "code"],
  ["text/csv", "Table", "sheet"],
  ["text/tab-separated", "Table", "sheet"],
  ["text/html", "Web page", "code"],
  ["text/markdown", "Text", "text"],
  ["text/plain", "Text", "text"],
  ["text/", "Text", "code"],
  ["message/", "Mail", "mail"],
];

const providers = { "cloud-drive": "Google Drive", "google-drive": "Google Drive" };

export const at = (id) => document.getElementById(id);

export function providerName(provider) {
  return providers[provider] || "Your drive";
}

export function make(tag, fields, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
}

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

/** Tells the users of screen readers what has happened. */
export function say(text) {
  at("status").textContent = text;
}

/** Shows what went wrong with the selection, beside the buttons. */
export function problem(text) {
  at("problem").hidden = !text;
  at("problem").textContent = text;
}

/** Asks a question in a dialog of the page: frames in pages of other sites have none of the browser. */
export function ask(question, yes) {
  const dialog = at("ask");
  at("question").textContent = question;
  at("yes").textContent = yes;
  return new Promise((resolve) => {
    at("yes").onclick = () => dialog.close("yes");
    at("no").onclick = () => dialog.close("no");
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
    dialog.returnValue = "no";
    dialog.showModal();
    at("no").focus();
  });
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let step = 0;
  for (; bytes >= 1000 && step < units.length - 1; step += 1) bytes /= 1000;
  return `${bytes.toLocaleString(undefined, { maximumFractionDigits: bytes < 10 && step > 0 ? 1 : 0 })} ${units[step]}`;
}

function kindOf(item) {
  const found = kinds.find(([begin]) => (item.mimeType || "").startsWith(begin));
  return found ? found.slice(1) : ["File", "file"];
}

/** What is known about an item, in a few words each. The owner is named if it is not the connected account. */
export function describe(item, account) {
  if (item.reason) return [reasons[item.reason] || "Cannot be read"];
  const folder = item.isDrive ? "Shared drive" : "Folder";
  const kind = item.type === "folder" ? folder : item.type === "shortcut" ? "Shortcut" : kindOf(item)[0];
  const date = new Date(item.modifiedAt);
  const isDated = !Number.isNaN(date.getTime()) && date.getTime() > 0 && !item.isDrive;
  const changed = isDated ? `changed ${date.toLocaleDateString()}` : "";
  return [kind, size(item.size), changed, item.owner === account ? "" : item.owner].filter(Boolean);
}

export function iconOf(item) {
  if (item.type === "folder" || item.folder) return item.isDrive ? "drive" : "folder";
  return item.type === "shortcut" ? "shortcut" : kindOf(item)[1];
}

function refusal(status, content) {
  // Links work once: only whoever sent this one can make another.
  if (status === 401) {
    const text = "Your session has ended. Ask for a new link; what you selected is kept in this tab.";
    return Object.assign(new Error(text), { over: true });
  }
  if (status === 403) {
    const text = "Another picker was opened in this browser since. Go on there, or ask for a new link.";
    return Object.assign(new Error(text), { over: true });
  }
  if (status === 429 || status >= 500) return new Error("The drive does not answer right now. Try again in a moment.");
  return Object.assign(new Error(content.error || "This did not work."), { status });
}

const csrf = document.querySelector("meta[name=csrf]").content;
const base = document.body.dataset.base;

/** The address of a container in the console, and the address at which the console is if there is one. */
export function consoleOf(tag) {
  const root = base.slice(0, base.lastIndexOf("/"));
  return { root: `${root}/`, container: `${root}/#/containers/${encodeURIComponent(tag)}` };
}

/** Sends a request of the picker's page. Throws an error whose message is for people. */
export async function call(method, path, body, signal) {
  const headers = { "x-csrf-token": csrf, accept: "application/json" };
  if (body) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin", signal });
  } catch {
    throw new Error("There is no connection to this service.");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw refusal(answer.status, content);
  return content;
}
