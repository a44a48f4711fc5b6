/** The search of a container: the question and its options, the results and their scores, and the request to copy. */

import { request } from "../api.js";
import { createTabs, moveByArrows } from "../components/keyboard.js";
import { load } from "../components/load.js";
import { createScoreBars, createScoreStrip } from "../components/scores.js";
import {
  createBadge,
  createCheck,
  createCode,
  createField,
  createHead,
  createPairs,
  createSection,
  createSelect,
} from "../components/parts.js";
import { create, debounce, replace } from "../dom.js";
import {
  createTime,
  formatCode,
  formatCount,
  formatDay,
  formatDecimal,
  formatMilliseconds,
  nameDocument,
} from "../format.js";
import { markExcerpt, markWords, readQuery } from "../highlight.js";
import { createRequestTexts } from "../request-text.js";
import { linkTo, rememberQuery } from "../router.js";

const PATH = "/v4/search";

/** How programs read the answer. */
const READ_RESULTS = {
  python: `for result in answer.json()["results"]:
    print(result["similarity"], result.get("memory") or result.get("chunk"))`,
  typescript: "const { results } = await answer.json();",
};
const MODES = [
  ["hybrid", "Everything"],
  ["memories", "Memories"],
  ["documents", "Documents"],
];
const FILTER_TYPES = [
  ["metadata", "is"],
  ["string_contains", "contains"],
  ["array_contains", "has the item"],
  [">", "is more than"],
  ["<", "is less than"],
];
/** The most characters of a question in the address of a document. */
const LONGEST_QUERY = 500;
const DEFAULTS = {
  q: "",
  mode: "hybrid",
  threshold: "0.6",
  limit: "10",
  rerank: "",
  rewrite: "",
  forgotten: "",
  key: "",
  compare: "metadata",
  value: "",
  path: "",
  believed: "",
  true: "",
};

/** Shows the search of a container. */
export function showSearch(page, { parameters: { tag }, query, signal }) {
  const choice = { ...DEFAULTS, ...query };
  const results = create("div", { class: "stack" });
  const texts = create("div", {});

  const remember = () => {
    const changed = Object.entries(choice).filter(([name, value]) => value !== DEFAULTS[name]);
    rememberQuery(["containers", tag, "search"], Object.fromEntries(changed));
    replace(texts, createTexts(tag, choice));
  };
  const search = () => {
    remember();
    if (!choice.q.trim()) {
      return Promise.resolve();
    }
    return load(
      results,
      { label: "results", signal },
      () => fetchResults(tag, choice, signal),
      (answer) => createResults(tag, answer, choice, remember),
    );
  };

  replace(
    page,
    createHead(`Search in ${tag}`, {
      text: "See what a search finds, why, and how to ask for it in a program.",
    }),
    createForm(choice, search),
    results,
    createSection("Request", texts),
  );
  remember();
  if (choice.q) {
    search();
  } else {
    replace(results, create("p", { class: "muted" }, "Write a question, then press Enter."));
  }
}

function createForm(choice, search) {
  const again = debounce(search, 250);
  const change = (name) => (value) => {
    choice[name] = value;
    again();
  };
  const input = (name, attributes) => {
    const element = create("input", {
      value: choice[name],
      name,
      on: { change: () => change(name)(element.value) },
      ...attributes,
    });
    return element;
  };
  const check = (name, label) =>
    createCheck(label, choice[name] === "yes", (isChecked) => change(name)(isChecked ? "yes" : ""), { name });
  const question = create("input", {
    type: "search",
    value: choice.q,
    name: "q",
    maxlength: 10000,
    dir: "auto",
    autocomplete: "off",
    data: { search: "" },
  });
  const submit = (event) => {
    event.preventDefault();
    choice.q = question.value;
    search();
  };
  return create(
    "form",
    { class: "stack", role: "search", on: { submit } },
    create(
      "div",
      { class: "question" },
      createField("Question", question),
      create("button", { class: "button primary" }, "Search"),
    ),
    create(
      "div",
      { class: "fields" },
      createField("Search in", createSelect(MODES, choice.mode, change("mode"), { name: "mode" })),
      createField("Most results", input("limit", { type: "number", min: 1, max: 100 })),
    ),
    create(
      "div",
      { class: "checks" },
      check("rerank", "Rerank the best results"),
      check("rewrite", "Ask in other wordings too"),
      check("forgotten", "Include forgotten memories"),
    ),
    create(
      "details",
      { open: Boolean(choice.key || choice.path || choice.believed || choice.true) },
      create("summary", {}, "Filters and past"),
      create(
        "div",
        { class: "fields" },
        createField("Metadata key", input("key", { maxlength: 64 })),
        createField(
          "Comparison",
          createSelect(FILTER_TYPES, choice.compare, change("compare"), { name: "compare" }),
        ),
        createField("Metadata value", input("value", { dir: "auto" })),
        createField(
          "Path",
          input("path", { placeholder: "folder/" }),
          "A path, or the beginning of one if it ends with a slash.",
        ),
        createField(
          "Recorded by",
          input("believed", { type: "date" }),
          "Nothing counts that was recorded later.",
        ),
        createField("Said by", input("true", { type: "date" }), "Nothing counts that was said later."),
      ),
    ),
  );
}

/** Results below the threshold are fetched as well, so that the threshold can be moved without a search. */
async function fetchResults(tag, choice, signal) {
  return request("POST", "/v4/search", {
    body: {
      ...buildBody(tag, choice),
      threshold: 0,
      explain: true,
      include: { ...buildInclude(choice), summaries: true },
    },
    signal,
  });
}

function buildBody(tag, choice) {
  const times = {
    ...(choice.believed && { believed: choice.believed }),
    ...(choice.true && { true: choice.true }),
  };
  return {
    q: choice.q,
    containerTag: tag,
    searchMode: choice.mode,
    threshold: Number(choice.threshold),
    limit: Number(choice.limit) || 10,
    ...(choice.rerank && { rerank: true }),
    ...(choice.rewrite && { rewriteQuery: true }),
    ...(choice.key && { filters: buildFilter(choice) }),
    ...(choice.path && { filepath: choice.path }),
    ...(Object.keys(times).length > 0 && { asOf: times }),
    ...(choice.forgotten && { include: buildInclude(choice) }),
  };
}

function buildInclude({ forgotten }) {
  return forgotten ? { forgottenMemories: true } : {};
}

function buildFilter({ key, compare, value }) {
  const isNumeric = compare === ">" || compare === "<";
  return isNumeric
    ? { AND: [{ key, value: Number(value), filterType: "numeric", numericOperator: compare }] }
    : { AND: [{ key, value, filterType: compare }] };
}

function createTexts(tag, choice) {
  const body = buildBody(tag, { ...choice, q: choice.q || "Where do I live?" });
  const texts = createRequestTexts("POST", PATH, body, READ_RESULTS);
  const query = { method: "POST", path: PATH, body: JSON.stringify(body) };
  return [
    createTabs(
      "Languages of the request",
      texts.map(({ label, text }) => ({ label, create: () => createCode(text, `${label} request`) })),
    ),
    create("a", { class: "edit-request", href: linkTo(["requests"], query) }, "Edit and send this request"),
  ];
}

function createResults(tag, { results, timing, hint }, choice, remember) {
  if (results.length === 0) {
    return create(
      "p",
      { role: "status" },
      hint ?? "Nothing was found. Ask with other words, or remove filters.",
    );
  }
  const above = create("ol", { class: "results" });
  const below = create("ol", { class: "results" });
  const rest = create("details", {}, create("summary", {}), below);
  const status = create("p", { class: "muted", role: "status" });
  const wanted = readQuery(choice.q);
  const items = results.map((result) => ({
    result,
    element: createResult(tag, result, results, choice.q, wanted),
  }));
  const show = () => {
    const threshold = Number(choice.threshold);
    const [good, poor] = [true, false].map((isGood) =>
      items.filter(({ result }) => result.similarity >= threshold === isGood),
    );
    replace(
      above,
      good.map((item) => item.element),
    );
    replace(
      below,
      poor.map((item) => item.element),
    );
    replace(rest.firstChild, `${formatCount(poor.length, "result")} below the threshold`);
    rest.hidden = poor.length === 0;
    replace(
      status,
      `${formatCount(good.length, "result")} at ${formatDecimal(threshold)} or more, in ${formatMilliseconds(timing)}`,
    );
  };
  const strip = createScoreStrip(
    results.map((result) => result.similarity),
    Number(choice.threshold),
    (threshold) => {
      choice.threshold = String(threshold);
      remember();
      show();
    },
  );
  show();
  moveByArrows(above, ".result-title");
  return create("section", { class: "section", "aria-label": "Results" }, strip, status, above, rest);
}

function createResult(tag, result, results, query, wanted) {
  const isMemory = "memory" in result;
  const source =
    result.explain?.sources?.[0]?.documentId ?? result.explain?.documentId ?? result.documents?.[0]?.id;
  const named = result.documents?.find((item) => item.id === source);
  const title = markWords(
    isMemory ? result.memory : nameDocument({ content: result.chunk, ...named }),
    wanted,
  );
  const found = { q: query.slice(0, LONGEST_QUERY), [isMemory ? "memory" : "chunk"]: result.id };
  return create(
    "li",
    { class: "result" },
    create(
      "div",
      { class: "result-head" },
      source
        ? create(
            "a",
            {
              class: isMemory ? "result-title wrap" : "result-title cut",
              dir: "auto",
              href: linkTo(["containers", tag, "documents", source], found),
            },
            title,
          )
        : create("span", { class: "wrap strong", dir: "auto" }, title),
      create("span", { class: "similarity", title: "Similarity" }, formatDecimal(result.similarity)),
    ),
    !isMemory && create("p", { class: "wrap result-text", dir: "auto" }, markExcerpt(result.chunk, wanted)),
    create(
      "div",
      { class: "badges" },
      createBadge(isMemory ? "Memory" : "Chunk", isMemory ? "accent" : ""),
      result.isForgotten && createBadge("Forgotten", "bad"),
      result.explain?.kind && createBadge(formatCode(result.explain.kind)),
      result.trust && createBadge(formatCode(result.trust)),
      create(
        "span",
        { class: "muted" },
        createTime(result.explain?.validFrom ?? result.updatedAt, formatDay),
      ),
    ),
    result.explain &&
      createScoreBars(
        result.explain.scores,
        results.map((other) => other.explain.scores),
      ),
    isMemory && createMemoryDetails(result),
  );
}

function createMemoryDetails({ explain, metadata, documents }) {
  const history =
    (explain?.history ?? []).length > 1 &&
    explain.history.map((version) => `${version.memory} (${formatDay(version.validFrom)})`).join(" → ");
  const names = (documents ?? []).map(nameDocument).join(", ");
  return create(
    "details",
    {},
    create("summary", {}, "More about this memory"),
    createPairs([
      ["Versions", history],
      [
        "Contradicted by",
        explain?.contradicts.length ? formatCount(explain.contradicts.length, "memory", "memories") : null,
      ],
      ["Said by", explain?.speaker],
      ["Documents", names],
      ["Metadata", metadata && JSON.stringify(metadata)],
    ]),
  );
}
