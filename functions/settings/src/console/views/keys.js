/** The API keys of the organization: list, make, disable, enable and delete them. */

import { request } from "../api.js";
import { confirmAction, openDialog } from "../components/dialog.js";
import { load, onSubmit } from "../components/load.js";
import { notify } from "../components/notice.js";
import {
  createBadge,
  createButton,
  createCode,
  createEmpty,
  createField,
  createHead,
  createSelect,
  createTable,
} from "../components/parts.js";
import { create, replace } from "../dom.js";
import { createTime, formatCode, formatCount, formatDay, formatMilliseconds } from "../format.js";

const KINDS = [
  ["scoped", "Scoped: one container"],
  ["agent", "Agent: some or all containers"],
];
const KINDS_HELP =
  "Neither administers. A scoped key reads and writes the content of its container, has a rate limit, and can be handed out.";

/** Shows the keys. */
export function showKeys(page, { signal }) {
  const content = create("div", { class: "stack" });
  const show = () =>
    load(
      content,
      { label: "keys", signal },
      () => request("GET", "/v3/auth/keys", { signal }),
      ({ keys }) => createKeys(keys, show),
    );
  const add = createButton("Make a key", () => openForm(show), { icon: "add", kind: "primary" });

  replace(
    page,
    createHead("Keys", {
      text: "Each program has its own key. Changes take effect within 30 seconds.",
      actions: [add],
    }),
    content,
  );
  show();
}

function createKeys(keys, reload) {
  if (keys.length === 0) {
    return createEmpty(
      "There is no key yet. Make one above. An administrator's key is made on the server:",
      "recollect keys create --org YOUR_ORGANIZATION --name admin",
    );
  }
  const columns = ["Name", "Reaches", "May", "Made", "Ends", "State", "Change"];
  return createTable(
    "Keys",
    columns,
    keys.map((key) => createRow(key, reload)),
  );
}

function createRow(key, reload) {
  const isExpired = key.expiresAt && new Date(key.expiresAt) < new Date();
  return [
    [
      create("span", { class: "wrap block", dir: "auto" }, key.name),
      create("span", { class: "muted block" }, formatCode(key.kind)),
      create("code", { class: "muted" }, `${key.start}…`),
    ],
    create(
      "span",
      { class: "wrap", dir: "auto" },
      key.containerTags ? key.containerTags.join(", ") : "All containers",
    ),
    [
      key.permission === "write" ? "Read and write" : "Read",
      key.rateLimitMax &&
        create(
          "span",
          { class: "muted block" },
          `${formatCount(key.rateLimitMax, "request")} in ${formatMilliseconds(key.rateLimitTimeWindow)}`,
        ),
    ],
    createTime(key.createdAt),
    createTime(key.expiresAt, formatDay),
    isExpired
      ? createBadge("Expired", "bad")
      : createBadge(key.enabled ? "Enabled" : "Disabled", key.enabled ? "good" : ""),
    create("div", { class: "actions" }, createToggle(key, reload), createDelete(key, reload)),
  ];
}

function createToggle(key, reload) {
  const label = key.enabled ? "Disable" : "Enable";
  const toggle = async () => {
    await request("PUT", `/v3/auth/keys/${encodeURIComponent(key.id)}/toggle`, {
      body: { enabled: !key.enabled },
    });
    notify(key.enabled ? "The key is disabled." : "The key is enabled.");
    reload();
  };
  const action = key.enabled
    ? () =>
        confirmAction({
          title: "Disable this key?",
          text: `Programs that use “${key.name}” are refused until it is enabled again.`,
          label: "Disable the key",
          action: toggle,
        })
    : () =>
        confirmAction({
          title: "Enable this key?",
          text: `Programs that use “${key.name}” are accepted again.`,
          label: "Enable the key",
          action: toggle,
        });
  return createButton(label, action, { kind: "small", "aria-label": `${label}: ${key.name}` });
}

function createDelete(key, reload) {
  const remove = () =>
    confirmAction({
      title: "Delete this key?",
      text: `Programs that use “${key.name}” are refused from then on. This cannot be undone.`,
      label: "Delete the key",
      action: async () => {
        await request("DELETE", `/v3/auth/keys/${encodeURIComponent(key.id)}`);
        notify("The key is deleted.");
        reload();
      },
    });
  return createButton("Delete", remove, { kind: "small", "aria-label": `Delete: ${key.name}` });
}

function openForm(reload) {
  openDialog({ title: "Make a key", content: (close) => createForm(close, reload) });
}

function createForm(close, reload) {
  const errors = create("div", {});
  const name = create("input", {
    required: true,
    maxlength: 100,
    autofocus: true,
    dir: "auto",
    name: "name",
  });
  const containers = create("input", { dir: "auto", name: "containers" });
  const permission = createSelect(
    [
      ["read", "Read"],
      ["write", "Read and write"],
    ],
    "read",
    undefined,
    { name: "permission" },
  );
  const days = create("input", { type: "number", min: 1, max: 365, value: 90, name: "days" });
  const permissionField = createField("May", permission);
  const kind = createSelect(KINDS, "scoped", () => showKind(), { name: "kind" });
  const containersField = createField(
    "Containers",
    containers,
    "One container for a scoped key. Several with commas between them for an agent's key; empty means all.",
  );
  const save = create("button", { class: "button primary" }, "Make the key");
  const showKind = () => {
    permissionField.hidden = kind.value === "scoped";
    containers.required = kind.value === "scoped";
  };
  const make = async () => {
    const body = readForm({ kind, name, containers, permission, days });
    const made = await request(
      "POST",
      kind.value === "scoped" ? "/v3/auth/scoped-key" : "/v3/auth/agent-key",
      { body },
    );
    close();
    reload();
    showSecret(made);
  };
  showKind();
  return create(
    "form",
    { class: "stack", on: { submit: onSubmit(save, errors, make) } },
    createField("Name", name, "The program or the person that uses it."),
    createField("Kind", kind, KINDS_HELP),
    containersField,
    permissionField,
    createField("Days until it ends", days, "Up to 365. Empty: it never ends."),
    errors,
    create("div", { class: "actions" }, createButton("Cancel", close), save),
  );
}

function readForm({ kind, name, containers, permission, days }) {
  const tags = containers.value
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
  const common = { name: name.value.trim(), ...(days.value && { expiresInDays: Number(days.value) }) };
  return kind.value === "scoped"
    ? { ...common, containerTag: tags.join(",") }
    : { ...common, permission: permission.value, ...(tags.length > 0 && { containerTags: tags }) };
}

function showSecret({ key, name }) {
  openDialog({
    title: "The key is made",
    content: (close) => [
      create("p", { class: "wrap" }, `Copy the secret of “${name}” now. It is not shown again.`),
      createCode(key, "key"),
      create("div", { class: "actions" }, createButton("I have stored it", close, { kind: "primary" })),
    ],
  });
}
