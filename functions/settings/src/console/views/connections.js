/** Connections to drives and websites: their state, what was skipped and why, their runs, and what can be done. */

import { request, serverAddress } from "../api.js";
import { openDialog } from "../components/dialog.js";
import { createTabs } from "../components/keyboard.js";
import { load, onSubmit, runAction } from "../components/load.js";
import { notify } from "../components/notice.js";
import {
  createBadge,
  createButton,
  createCheck,
  createEmpty,
  createField,
  createHead,
  createPairs,
  createSection,
  createSelect,
  createTable,
  renameHead,
} from "../components/parts.js";
import { create, replace } from "../dom.js";
import { createTime, formatBytes, formatCode, formatCount, formatNumber } from "../format.js";
import { goTo, linkTo } from "../router.js";

const POLL_MILLISECONDS = 3000;
/** The number up to which the server counts the items that the limit leaves out. */
const MAX_COUNTED = 5000;
const PROVIDERS = { "web-crawler": "Website", "cloud-drive": "Cloud drive", "google-drive": "Google Drive" };
const TONES = {
  active: "good",
  pending_oauth: "busy",
  awaiting_selection: "busy",
  expired: "bad",
  suspended: "bad",
  completed: "good",
  running: "busy",
  failed: "bad",
  filed: "good",
  skipped: "busy",
  pending: "busy",
};
const ITEM_STATES = [
  ["skipped", "Skipped"],
  ["failed", "Failed"],
  ["pending", "Pending"],
  ["filed", "Filed"],
];

/** What a person does about each kind of problem. */
const ADVICE = {
  reauth_required: "Choose “Reconnect”, and let the user permit access again.",
  access_denied: "The user did not permit access. Open the link again to connect after all.",
  scope_denied: "The user left out access to the files. Open the link again and leave that box ticked.",
  missing_refresh_token: "Remove the app in the security settings of the account, then reconnect.",
  app_misconfigured: "Correct the id or the secret of the app in the settings.",
  admin_policy: "Ask the administrator at the provider to allow the app, then reconnect.",
  model_required:
    "The setting “What matters” needs a model. Let the operator choose one, or clear the setting.",
  removal_held:
    "You need not do anything. Very many items are gone at once, and a second run confirms it before documents are removed.",
};
const ADVICE_WAIT = "You need not do anything: synchronization is tried again by itself.";

/** Shows all connections. */
export function showConnections(page, { signal }) {
  const content = create("div", { class: "stack" });
  const add = createButton("Connect", openForm, { icon: "add", kind: "primary" });
  replace(
    page,
    createHead("Connections", {
      text: "A connection keeps a container in step with a drive or a website.",
      actions: [add],
    }),
    content,
  );
  load(
    content,
    { label: "connections", signal },
    () => request("POST", "/v3/connections/list", { body: {}, signal }),
    createList,
  );
}

/** Shows one connection. */
export function showConnection(page, { parameters: { id }, signal }) {
  const content = create("div", { class: "stack" });
  const head = createHead("Connection", {
    text: `Id ${id}`,
    parent: { label: "Connections", href: linkTo(["connections"]) },
  });
  const show = () =>
    load(
      content,
      { label: "the connection", signal },
      () => fetchConnection(id, signal),
      (answer) => {
        renameHead(head, nameConnection(answer.connection));
        if (answer.runs.some((run) => run.status === "running")) {
          setTimeout(() => !signal.aborted && show(), POLL_MILLISECONDS);
        }
        return createConnection(answer, show, signal);
      },
    );
  replace(page, head, content);
  show();
}

async function fetchConnection(id, signal) {
  const path = `/v3/connections/${encodeURIComponent(id)}`;
  const [connection, runs] = await Promise.all([
    request("GET", path, { signal }),
    request("GET", `${path}/sync-runs`, { signal }),
  ]);
  return { connection, runs };
}

function createList(connections) {
  if (connections.length === 0) {
    return createEmpty(
      "There is no connection yet. Connect a website or a drive above, or with this command.",
      `curl ${serverAddress}/v3/connections/web-crawler \\
  -H 'Authorization: Bearer YOUR_KEY' -H 'content-type: application/json' \\
  -d '{"containerTag": "docs", "metadata": {"startUrl": "https://example.com/docs/", "maxPages": 200}}'`,
    );
  }
  const columns = ["Connection", "Container", "State", "Documents", "Last run", "Next run"];
  return createTable(
    "Connections",
    columns,
    connections.map((connection) => [
      create(
        "a",
        { class: "wrap", dir: "auto", href: linkTo(["connections", connection.id]) },
        nameConnection(connection),
      ),
      create("span", { class: "wrap", dir: "auto" }, connection.containerTags.join(", ")),
      createBadge(formatCode(connection.status), TONES[connection.status]),
      formatNumber(connection.documentCount),
      connection.lastSyncRun
        ? [
            createTime(connection.lastSyncRun.startedAt),
            " ",
            createBadge(formatCode(connection.lastSyncRun.status), TONES[connection.lastSyncRun.status]),
          ]
        : create("span", { class: "muted" }, "none yet"),
      connection.nextSyncAt
        ? createTime(connection.nextSyncAt)
        : create("span", { class: "muted" }, "not planned"),
    ]),
  );
}

function nameConnection({ provider, email, metadata }) {
  const name = PROVIDERS[provider] ?? provider;
  const detail = email ?? metadata?.startUrl ?? metadata?.sitemapUrl;
  return typeof detail === "string" ? `${name}: ${detail}` : name;
}

function formatLeftOut(count) {
  const number = formatNumber(count);
  return count >= MAX_COUNTED ? `${number} or more` : number;
}

function createConnection({ connection, runs }, reload, signal) {
  const errors = create("div", {});
  return [
    createActions(connection, errors, reload),
    errors,
    connection.errorKind &&
      create(
        "div",
        { class: "error-box" },
        create(
          "div",
          {},
          create("p", { class: "strong" }, connection.error ?? formatCode(connection.errorKind)),
          create("p", {}, ADVICE[connection.errorKind] ?? ADVICE_WAIT),
        ),
      ),
    create(
      "div",
      { class: "card" },
      createPairs([
        ["State", createBadge(formatCode(connection.status), TONES[connection.status])],
        [
          "Container",
          create(
            "span",
            {},
            connection.containerTags.map((tag) =>
              create("a", { dir: "auto", href: linkTo(["containers", tag]) }, tag),
            ),
          ),
        ],
        [
          "Documents",
          `${formatNumber(connection.documentCount)} of at most ${formatNumber(connection.documentLimit)}`,
        ],
        ["Left out by the limit", connection.skippedByLimit ? formatLeftOut(connection.skippedByLimit) : null],
        ["Made", createTime(connection.createdAt)],
        ["Permission ends", connection.expiresAt ? createTime(connection.expiresAt) : null],
        ["Next run", connection.nextSyncAt ? createTime(connection.nextSyncAt) : null],
        ["Settings", connection.metadata ? JSON.stringify(connection.metadata) : null],
      ]),
    ),
    createSection("Last runs", createRuns(runs)),
    createSection(
      "Items",
      createTabs(
        "States of items",
        ITEM_STATES.map(([state, label]) => ({
          label,
          create: () => createItems(connection, state, signal),
        })),
      ),
    ),
  ];
}

function createActions(connection, errors, reload) {
  const path = `/v3/connections/${encodeURIComponent(connection.id)}`;
  const isWebsite = connection.provider === "web-crawler";
  const synchronize = createButton(
    "Synchronize now",
    () =>
      runAction(synchronize, errors, async () => {
        const { message } = await request("POST", `${path}/import`, { body: {} });
        notify(message);
        setTimeout(reload, POLL_MILLISECONDS);
      }),
    { kind: "primary" },
  );
  const pick = createButton("Pick items again", () =>
    runAction(pick, errors, async () => {
      const { url } = await request("POST", `${path}/cloud-drive/hosted-picker`, { body: {} });
      showLink(url, "Open the picker", "The link works once.");
    }),
  );
  const reconnect = createButton("Reconnect", () =>
    runAction(reconnect, errors, async () => {
      const { authLink } = await request("POST", `${path}/reconnect`, { body: {} });
      showLink(authLink, "Permit access again", "Open the link with the account of the user.");
    }),
  );
  const disconnect = createButton("Disconnect", () => askToDisconnect(connection, path), { kind: "danger" });
  return create("div", { class: "actions" }, synchronize, !isWebsite && [pick, reconnect], disconnect);
}

function showLink(url, label, text) {
  openDialog({
    title: label,
    content: () => [
      create("p", {}, text),
      create(
        "p",
        {},
        /^https?:\/\//i.test(url)
          ? create("a", { href: url, target: "_blank", rel: "noopener noreferrer", autofocus: true }, label)
          : url,
      ),
    ],
  });
}

function askToDisconnect(connection, path) {
  openDialog({
    title: "Disconnect?",
    content: (close) => {
      const errors = create("div", {});
      const choice = { isDeleting: false };
      const confirm = createButton(
        "Disconnect",
        async () => {
          const isDone = await runAction(confirm, errors, () =>
            request("DELETE", path, { query: { deleteDocuments: choice.isDeleting } }),
          );
          if (isDone) {
            close();
            notify("The connection is deleted.");
            goTo(["connections"]);
          }
        },
        { kind: "danger" },
      );
      return [
        create(
          "p",
          { class: "wrap" },
          `“${nameConnection(connection)}” is no longer synchronized, and its permission is given back.`,
        ),
        createCheck(
          `Delete its documents as well (${formatNumber(connection.documentCount)})`,
          false,
          (isChecked) => {
            choice.isDeleting = isChecked;
          },
        ),
        errors,
        create("div", { class: "actions" }, createButton("Cancel", close, { autofocus: true }), confirm),
      ];
    },
  });
}

function createRuns(runs) {
  if (runs.length === 0) {
    return create("p", { class: "muted" }, "There was no run yet.");
  }
  return createTable(
    "Runs",
    ["Began", "State", "Cause", "Processed", "Skipped", "Removed", "Failed", "Reason"],
    runs.map((run) => [
      createTime(run.startedAt),
      createBadge(formatCode(run.status), TONES[run.status]),
      formatCode(run.triggerType),
      formatNumber(run.itemsProcessed),
      formatNumber(run.itemsSkipped),
      formatNumber(run.itemsRemoved),
      formatNumber(run.itemsFailed),
      create("span", { class: "wrap", dir: "auto" }, run.error ?? ""),
    ]),
  );
}

function createItems(connection, state, signal) {
  const list = create("div", { class: "stack" });
  const rows = [];
  const show = (after) =>
    load(
      list,
      { label: "items", signal },
      () =>
        request("GET", `/v3/connections/${encodeURIComponent(connection.id)}/items`, {
          query: { state, after, limit: 100 },
          signal,
        }),
      ({ items, next }) => {
        rows.push(...items.map((item) => createItemRow(connection, item)));
        return [
          create("p", { class: "muted", role: "status" }, describeItems(rows.length, state, next)),
          rows.length > 0 && createTable(`Items: ${state}`, ["Item", "Reason", "Size", "Changed"], rows),
          next && createButton("Show more", () => show(next)),
        ];
      },
    );
  show();
  return list;
}

function describeItems(count, state, next) {
  if (count === 0) {
    return `No item is ${state}.`;
  }
  return next ? `The first ${formatCount(count, "item")}` : formatCount(count, "item");
}

function createItemRow(connection, item) {
  const name = item.path || item.name;
  return [
    item.documentId
      ? create(
          "a",
          {
            class: "wrap",
            dir: "auto",
            href: linkTo(["containers", connection.containerTags[0], "documents", item.documentId]),
          },
          name,
        )
      : create("span", { class: "wrap", dir: "auto" }, name),
    create("span", { class: "wrap", dir: "auto" }, formatReason(item.reason)),
    item.size === null ? "" : formatBytes(item.size),
    item.modifiedAt ? createTime(item.modifiedAt) : "",
  ];
}

/** A reason is a code or a sentence. */
function formatReason(reason) {
  return /^[a-z_]+$/.test(reason ?? "") ? formatCode(reason) : (reason ?? "");
}

function openForm() {
  openDialog({
    title: "Connect",
    content: (close) =>
      createTabs("What is connected", [
        { label: "Website", create: () => createWebsiteForm(close) },
        { label: "Drive", create: () => createDriveForm(close) },
      ]),
  });
}

function createWebsiteForm(close) {
  const container = create("input", { required: true, maxlength: 100, autofocus: true, name: "container" });
  const address = create("input", { type: "url", required: true, placeholder: "https://", name: "address" });
  const pages = create("input", {
    type: "number",
    min: 1,
    max: 1000,
    value: 100,
    required: true,
    name: "pages",
  });
  const fields = [
    createField("Container", container),
    createField(
      "First page",
      address,
      "The crawler stays on this host, obeys robots.txt and comes back once a week.",
    ),
    createField("Most pages", pages),
  ];
  return createConnectForm(fields, "Connect the website", async () => {
    const body = {
      containerTag: container.value.trim(),
      metadata: { startUrl: address.value, maxPages: Number(pages.value) },
    };
    const { id } = await request("POST", "/v3/connections/web-crawler", { body });
    close();
    goTo(["connections", id]);
  });
}

function createDriveForm(close) {
  const container = create("input", { required: true, maxlength: 100, name: "container" });
  const scope = createSelect(
    [
      ["selected", "What the user picks"],
      ["full", "Everything"],
    ],
    "selected",
    undefined,
    { name: "scope" },
  );
  const fields = [createField("Container", container), createField("Included", scope)];
  return createConnectForm(fields, "Get the link for the user", async () => {
    const body = { containerTag: container.value.trim(), metadata: { syncScope: scope.value } };
    const { authLink } = await request("POST", "/v3/connections/cloud-drive", { body });
    close();
    showLink(
      authLink,
      "Permit access",
      "The user opens this link, permits access, and picks what is included.",
    );
  });
}

function createConnectForm(fields, label, action) {
  const errors = create("div", {});
  const button = create("button", { class: "button primary" }, label);
  const submit = onSubmit(button, errors, action);
  return create(
    "form",
    { class: "stack", on: { submit } },
    fields,
    errors,
    create("div", { class: "actions" }, button),
  );
}
