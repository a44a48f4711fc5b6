/** The profile of a container, in the form in which a prompt gets it. */

import { request, serverAddress } from "../api.js";
import { createTabs } from "../components/keyboard.js";
import { load } from "../components/load.js";
import {
  createCheck,
  createCopyButton,
  createEmpty,
  createField,
  createHead,
  createSection,
} from "../components/parts.js";
import { create, debounce, replace } from "../dom.js";
import { formatCount, formatNumber } from "../format.js";
import { linkTo } from "../router.js";

/** The service itself estimates a token as four letters. */
const LETTERS_OF_TOKEN = 4;
const PARTS = [
  ["static", "Lasting traits"],
  ["dynamic", "Everything else"],
  ["buckets", "Buckets"],
];

/** Shows the profile of a container. */
export function showProfile(page, { parameters: { tag }, signal }) {
  const content = create("div", { class: "stack" });
  const choice = { maxTokens: "", question: "", parts: new Set(PARTS.map(([part]) => part)) };
  const show = () =>
    load(
      content,
      { label: "the profile", signal },
      () => fetchProfile(tag, choice, signal),
      (answer) => createProfile(tag, answer, choice),
    );
  const showSoon = debounce(show, 300);

  replace(
    page,
    createHead(`Profile of ${tag}`, {
      text: "What is known at a glance, in the form in which a prompt gets it.",
    }),
    createForm(choice, showSoon),
    content,
  );
  show();
}

async function fetchProfile(tag, choice, signal) {
  const body = {
    containerTag: tag,
    include: [...choice.parts],
    ...(choice.maxTokens && { maxTokens: Number(choice.maxTokens) }),
    ...(choice.question && { q: choice.question }),
  };
  const [text, answer, { buckets }] = await Promise.all([
    request("POST", "/v4/profile", { body, accept: "text/markdown", signal }),
    request("POST", "/v4/profile", { body, signal }),
    request("POST", "/v4/profile/buckets", { body: { containerTag: tag }, signal }),
  ]);
  return { text, answer, buckets, body };
}

function createForm(choice, onChange) {
  const tokens = create("input", {
    type: "number",
    min: 1,
    max: 32000,
    placeholder: "1600",
    on: {
      input: () => {
        choice.maxTokens = tokens.value;
        onChange();
      },
    },
  });
  const question = create("input", {
    type: "search",
    maxlength: 10000,
    dir: "auto",
    data: { search: "" },
    on: {
      input: () => {
        choice.question = question.value.trim();
        onChange();
      },
    },
  });
  const checks = PARTS.map(([part, label]) =>
    createCheck(label, true, (isChecked) => {
      choice.parts[isChecked ? "add" : "delete"](part);
      onChange();
    }),
  );
  return create(
    "div",
    { class: "stack" },
    create(
      "div",
      { class: "fields" },
      createField(
        "Most tokens",
        tokens,
        "For lasting traits and everything else together. Empty: 1,000 for the traits and 600 for the others, and twice as much for instructions and preferences.",
      ),
      createField("Question (optional)", question, "Memories that answer it are found as well."),
    ),
    create("fieldset", {}, create("legend", {}, "Parts"), create("div", { class: "checks" }, checks)),
  );
}

function createProfile(tag, { text, answer, buckets, body }, choice) {
  if (choice.parts.size === 0) {
    return create("p", { class: "muted" }, "Tick a part to see it.");
  }
  const { profile } = answer;
  const count =
    (profile.static?.length ?? 0) +
    (profile.dynamic?.length ?? 0) +
    Object.values(profile.buckets ?? {}).flat().length;
  if (count === 0) {
    return createEmpty(
      "Nothing is known yet. Add a text in which somebody says something about themselves.",
      `curl ${serverAddress}/v4/profile \\\n  -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    );
  }
  const tokens = Math.ceil([...text].length / LETTERS_OF_TOKEN);
  return [
    create(
      "div",
      { class: "bar" },
      create(
        "p",
        { role: "status" },
        create("span", { class: "strong" }, `About ${formatCount(tokens, "token")}`),
        create(
          "span",
          { class: "muted" },
          `, ${formatCount(count, "sentence")}, ${formatCount([...text].length, "character")}`,
        ),
      ),
      createCopyButton(() => text, "Copy the profile"),
    ),
    createTabs("Forms of the profile", [
      {
        label: "As a prompt gets it",
        create: () =>
          create(
            "pre",
            { class: "prompt", dir: "auto", tabindex: 0, role: "group", "aria-label": "Profile" },
            text,
          ),
      },
      { label: "As lists", create: () => createLists(profile, buckets) },
    ]),
    answer.searchResults && createFound(tag, answer.searchResults),
  ];
}

function createLists(profile, buckets) {
  const lists = [
    ["Lasting traits", profile.static],
    ["Everything else", profile.dynamic],
    ...Object.entries(profile.buckets ?? {}).map(([key, sentences]) => [
      `Bucket ${key}`,
      sentences,
      buckets.find((bucket) => bucket.key === key)?.description,
    ]),
  ];
  return create(
    "div",
    {},
    lists
      .filter(([, sentences]) => sentences)
      .map(([label, sentences, description]) =>
        createSection(
          `${label} (${formatNumber(sentences.length)})`,
          description && create("p", { class: "muted wrap", dir: "auto" }, description),
          sentences.length > 0 &&
            create(
              "ul",
              { class: "bullets" },
              sentences.map((sentence) => create("li", { class: "wrap", dir: "auto" }, sentence)),
            ),
        ),
      ),
  );
}

function createFound(tag, { results }) {
  const items = results.map((result) =>
    create(
      "li",
      { class: "wrap", dir: "auto" },
      create(
        "a",
        { href: linkTo(["containers", tag, "memories"], { find: result.id }) },
        result.memory ?? result.chunk,
      ),
    ),
  );
  return createSection(
    "Found for the question",
    items.length
      ? create("ul", { class: "bullets" }, items)
      : create("p", { class: "muted" }, "No memory answers it."),
  );
}
