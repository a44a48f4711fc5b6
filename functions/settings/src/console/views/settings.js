/** The settings of the organization. Each field has its help beside it and is saved by itself. */

import { request } from "../api.js";
import { load, onSubmit } from "../components/load.js";
import { notify } from "../components/notice.js";
import { createBadge, createHead, createSection, createSelect } from "../components/parts.js";
import { create, replace, uniqueId } from "../dom.js";

const LISTS_HELP = "One a line. Empty clears the setting.";
const JSON_HELP = "As JSON. Empty clears the setting.";

/** The fields, in groups. `kind` says how a field is shown, and `part` names a part of a compound setting. */
const GROUPS = [
  [
    "What the organization does",
    [
      {
        name: "organizationalContext",
        label: "Context of the organization",
        kind: "text",
        most: 1500,
        path: "/organization",
        help: "It guides the extraction of memories and is never a source of facts.",
      },
      {
        name: "workspacePrompt",
        label: "Work of the organization",
        kind: "text",
        most: 1500,
        help: "A description of the organization's work.",
      },
      {
        name: "filterPrompt",
        label: "What matters",
        kind: "text",
        most: 750,
        help: "A description of what matters to the organization. Connections take items by it if filters are on and the operator has chosen a model.",
      },
    ],
  ],
  [
    "Content",
    [
      {
        name: "chunkSize",
        label: "Size of a chunk",
        kind: "number",
        help: "The desired size in characters, from 64 to 16,000. With −1 the service decides.",
      },
      {
        name: "profileBuckets",
        label: "Buckets of profiles",
        kind: "json",
        help: `The buckets of every profile, each with a key and a description, as in [{"key": "goals", "description": "What the user wants to reach"}]. ${JSON_HELP}`,
      },
      {
        name: "shouldLLMFilter",
        label: "Filter incoming content",
        kind: "switch",
        help: "Whether the rules below and “What matters” limit what connections take. The filters stay when it is turned off.",
      },
      {
        name: "includeItems",
        label: "Items to include",
        kind: "json",
        help: `Items that connections include, as in {"patterns": ["*.pdf"], "folders": ["Projects"]}. ${JSON_HELP}`,
      },
      {
        name: "excludeItems",
        label: "Items to exclude",
        kind: "json",
        help: `Items that connections exclude. Exclusion wins. ${JSON_HELP}`,
      },
    ],
  ],
  [
    "Trust",
    [
      {
        name: "trustedSources",
        part: "senders",
        label: "Trusted senders",
        kind: "list",
        help: `Addresses of senders of mails, or their domains, whose words count as the user's own. ${LISTS_HELP}`,
      },
      {
        name: "trustedSources",
        part: "hosts",
        label: "Trusted hosts",
        kind: "list",
        help: `Hosts of pages whose words count as the user's own, without their subdomains. ${LISTS_HELP}`,
      },
      {
        name: "trustedSources",
        part: "providers",
        label: "Trusted providers",
        kind: "list",
        help: `cloud-drive, web-crawler or google-drive. ${LISTS_HELP}`,
      },
      {
        name: "trustedSources",
        part: "connections",
        label: "Trusted connections",
        kind: "list",
        help: `Ids of connections. ${LISTS_HELP}`,
      },
    ],
  ],
  [
    "Privacy and addresses",
    [
      {
        name: "logContent",
        label: "Content of the request log",
        kind: "choice",
        choices: [
          ["redacted", "Redacted: ids, numbers and states, but no texts"],
          ["full", "Full: shortened texts without secrets"],
          ["off", "Off: nothing"],
        ],
        help: "What the request log keeps of requests and answers.",
      },
      {
        name: "allowedRedirectUrls",
        label: "Allowed redirects",
        kind: "list",
        help: `The origins to which people may be sent after they have connected an account. ${LISTS_HELP}`,
      },
    ],
  ],
  [
    "Picker of connected drives",
    [
      {
        name: "picker",
        part: "origins",
        label: "Pages that may show the picker",
        kind: "list",
        help: `Origins like https://example.com of pages that may show the picker in a frame. ${LISTS_HELP}`,
      },
      {
        name: "picker",
        part: "name",
        label: "Name in the picker",
        kind: "line",
        most: 60,
        help: "The name of the organization that users read. Empty clears it.",
      },
      {
        name: "picker",
        part: "color",
        label: "Colour of the picker",
        kind: "line",
        most: 7,
        help: "The colour of buttons and links, like #1f5fc4. Empty clears it.",
      },
      {
        name: "picker",
        part: "logo",
        label: "Logo in the picker",
        kind: "line",
        most: 32768,
        help: "A picture as an address like data:image/png;base64,…, at most 32 KB. Empty clears it.",
      },
    ],
  ],
  ["Own apps for connections", ["cloudDrive", "notion", "onedrive", "github"].flatMap(listAppFields)],
];

/** Shows the settings. */
export function showSettings(page, { signal }) {
  const content = create("div", { class: "stack" });
  replace(
    page,
    createHead("Settings", { text: "They hold for the whole organization. Each one is saved by itself." }),
    content,
  );
  load(
    content,
    { label: "settings", signal },
    () => fetchSettings(signal),
    (settings) =>
      GROUPS.map(([title, fields]) =>
        createSection(
          title,
          create(
            "div",
            { class: "settings" },
            fields.map((field) => createSetting(field, settings)),
          ),
        ),
      ),
  );
}

async function fetchSettings(signal) {
  const [settings, organization] = await Promise.all([
    request("GET", "/v3/settings", { signal }),
    request("GET", "/organization", { signal }),
  ]);
  return { ...settings, organizationalContext: organization.organizationalContext };
}

function listAppFields(provider) {
  const label = { cloudDrive: "Cloud drive", notion: "Notion", onedrive: "OneDrive", github: "GitHub" }[
    provider
  ];
  return [
    {
      name: `${provider}ClientId`,
      label: `${label}: client id`,
      kind: "line",
      most: 500,
      help: `The client id of the organization's own app with ${label}. Empty clears it.`,
    },
    {
      name: `${provider}ClientSecret`,
      label: `${label}: secret`,
      kind: "secret",
      help: "It is sealed and not read back. Saving it empty deletes it.",
    },
    {
      name: `${provider}CustomKeyEnabled`,
      label: `${label}: use the own app`,
      kind: "switch",
      help: "It needs the client id and the secret.",
    },
  ];
}

function createSetting(field, settings) {
  const id = uniqueId("setting");
  const errors = create("div", {});
  const control = createControl(field, settings, id);
  const save = create("button", { class: "button", "aria-label": `Save: ${field.label}` }, "Save");
  const send = async () => {
    await request("PATCH", field.path ?? "/v3/settings", {
      body: buildBody(field, control.read(), settings),
    });
    control.isSaved?.();
    notify(`${field.label} is saved.`);
  };
  return create(
    "form",
    { class: "setting", on: { submit: onSubmit(save, errors, send) } },
    create(
      "div",
      {},
      create("label", { htmlFor: id, class: "strong" }, field.label),
      create("p", { class: "help wrap", id: `${id}-help` }, field.help),
    ),
    create(
      "div",
      { class: "stack" },
      create("div", { class: "setting-control" }, control.element, save),
      errors,
    ),
  );
}

/** A compound setting is sent as a whole, so the other parts are sent as they are. */
function buildBody({ name, part }, value, settings) {
  if (!part) {
    settings[name] = value;
    return { [name]: value };
  }
  settings[name] = { ...settings[name], [part]: value };
  return { [name]: settings[name] };
}

function createControl(field, settings, id) {
  const stored = field.part ? settings[field.name]?.[field.part] : settings[field.name];
  const attributes = {
    id,
    "aria-describedby": `${id}-help`,
    dir: "auto",
    maxlength: field.most,
    spellcheck: field.kind === "text" ? null : "false",
  };
  return CONTROLS[field.kind](stored, attributes, field, settings);
}

const CONTROLS = {
  text: (stored, attributes) => {
    const input = create("textarea", { ...attributes, value: stored });
    return { element: input, read: () => input.value.trim() || null };
  },
  line: (stored, attributes) => {
    const input = create("input", { ...attributes, value: stored, autocomplete: "off" });
    return { element: input, read: () => input.value.trim() || null };
  },
  number: (stored, attributes) => {
    const input = create("input", {
      ...attributes,
      type: "number",
      min: -1,
      max: 16000,
      required: true,
      value: stored,
    });
    return { element: input, read: () => Number(input.value) };
  },
  list: (stored, attributes) => {
    const input = create("textarea", { ...attributes, rows: 3, value: (stored ?? []).join("\n") });
    const read = () =>
      input.value
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
    return { element: input, read: () => (read().length ? read() : null) };
  },
  json: (stored, attributes) => {
    const input = create("textarea", {
      ...attributes,
      rows: 4,
      class: "mono",
      value: stored === null ? "" : JSON.stringify(stored, null, 2),
    });
    return { element: input, read: () => readJson(input.value) };
  },
  choice: (stored, attributes, { choices }) => {
    const select = createSelect(choices, stored, undefined, attributes);
    return { element: select, read: () => select.value };
  },
  switch: (stored, attributes) => {
    const box = create("input", { ...attributes, type: "checkbox", checked: stored === true });
    return { element: box, read: () => box.checked };
  },
  secret: (stored, attributes, { name }, settings) => {
    const input = create("input", {
      ...attributes,
      type: "password",
      autocomplete: "new-password",
      maxlength: 1000,
    });
    const state = create("div", {});
    const show = (isSet) =>
      replace(state, createBadge(isSet ? "A secret is stored" : "No secret is stored", isSet ? "good" : ""));
    show(settings[`${name}Set`]);
    return {
      element: create("div", { class: "stack" }, state, input),
      read: () => input.value || null,
      isSaved: () => {
        show(Boolean(input.value));
        input.value = "";
      },
    };
  },
};

function readJson(text) {
  try {
    return text.trim() ? JSON.parse(text) : null;
  } catch (error) {
    throw Object.assign(new Error(`This is not JSON: ${error.message}`), {
      advice: "Correct it, then save again.",
    });
  }
}
