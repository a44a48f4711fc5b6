/** The memories of a container: what is believed now or was at a time, what replaced what, and what to review. */

import { request, requestPages, serverAddress } from "../api.js";
import { createTabs, moveByArrows } from "../components/keyboard.js";
import { load, runAction } from "../components/load.js";
import { createMemoryActions, createMemoryFacts } from "../components/memory.js";
import { notify } from "../components/notice.js";
import { createButton, createEmpty, createField, createHead, createSelect } from "../components/parts.js";
import { createSelection } from "../components/selection.js";
import { listNames } from "../components/selection-bar.js";
import { create, debounce, replace } from "../dom.js";
import { createTime, formatCode, formatCount, formatDay, formatNumber, formatTime } from "../format.js";
import { buildChains, findVersion, isForgottenAt, listTimes } from "../history.js";
import { linkTo } from "../router.js";
import { isContentKey } from "../session.js";

const MOST_ON_PAGE = 1100;
const MOST_FORGOTTEN = 500;
const SHOWN_AT_ONCE = 100;
const KINDS = ["fact", "preference", "instruction", "decision", "plan", "event"];

/** Which memories are shown. Each has a label and a test of a memory and whether it is forgotten. */
const STATES = {
  believed: ["Believed", (chain, isForgotten) => !isForgotten],
  changed: ["With earlier versions", (chain, isForgotten) => !isForgotten && chain.versions.length > 1],
  contradicted: ["Contradicted", (chain, isForgotten) => !isForgotten && chain.entry.contradicts.length > 0],
  concluded: [
    "Conclusions",
    (chain, isForgotten) => !isForgotten && (chain.entry.isInference || chain.entry.reviewStatus !== null),
  ],
  forgotten: ["Forgotten", (chain, isForgotten) => isForgotten],
  all: ["All", () => true],
};

/** Documents are dated by the day, and recordings by the minute. */
const FORMATS = { recorded: formatTime, said: formatDay };

const RELATIONS = { extends: "Extends", derives: "Follows from", updates: "Replaces" };

/** Shows the memories of a container. */
export function showMemories(page, { parameters: { tag }, query, signal }) {
  const content = create("div", { class: "stack" });
  const choice = {
    state: "believed",
    kind: "",
    text: query.find ?? "",
    clock: "recorded",
    time: null,
    selectable: [],
  };
  const selection = createSelection({
    noun: "memory",
    plural: "memories",
    actions: [describeForgetting(tag)],
    findAll: () => choice.selectable,
    onDone: () => show(),
  });
  let tab = 0;
  const show = () =>
    load(
      content,
      { label: "memories", signal },
      () => fetchAll(tag, content, signal),
      ({ entries, inferred }) => {
        if (entries.length === 0) {
          return createEmpty(
            "This container has no memory yet. Add a text in which somebody says something about themselves.",
            createExample(tag),
          );
        }
        return createTabs(
          "Memories",
          [
            {
              label: "Timeline",
              create: () => createTimeline(tag, entries, choice, selection, show, signal),
            },
            {
              label: `To review (${formatNumber(inferred.total)})`,
              create: () => createReview(tag, inferred, entries, show),
            },
          ],
          {
            chosen: tab,
            onChoose: (index) => {
              tab = index;
            },
          },
        );
      },
    );

  replace(
    page,
    createHead(`Memories of ${tag}`, { text: "What is believed, since when, and what it has replaced." }),
    content,
  );
  show();
}

/** Fetches memories page by page, the newest first. */
export function fetchMemories(tag, onPage, signal) {
  return requestPages(
    async (page) => {
      const answer = await request("POST", "/v4/memories/list", {
        body: { containerTag: tag, limit: MOST_ON_PAGE, page },
        signal,
      });
      return { entries: answer.memoryEntries, pagination: answer.pagination };
    },
    { onPage },
  );
}

async function fetchAll(tag, content, signal) {
  const report = (items, { totalItems }) =>
    content
      .querySelector(".loading")
      ?.replaceChildren(
        `Loading ${formatNumber(items.length)} of ${formatCount(totalItems, "memory", "memories")}…`,
      );
  const entries = await fetchMemories(tag, report, signal);
  return { entries, inferred: entries.length ? await fetchInferred(tag, signal) : null };
}

/** A key for content may not review. */
async function fetchInferred(tag, signal) {
  return isContentKey()
    ? { memories: [], total: 0 }
    : request("GET", `/v3/container-tags/${encodeURIComponent(tag)}/inferred`, { signal });
}

/** Returns the action that forgets several memories. */
function describeForgetting(tag) {
  return {
    label: () => "Forget",
    question: (items) => ({
      title: `Forget ${formatCount(items.length, "memory", "memories")}?`,
      text: `${listNames(items)}: no search finds them any more. Their documents stay, and do not bring them back.`,
      label: `Forget ${formatCount(items.length, "memory", "memories")}`,
    }),
    doing: "Forgetting",
    done: "forgotten",
    size: MOST_FORGOTTEN,
    send: (items) =>
      request("POST", "/v4/memories/forget-matching", {
        body: { containerTag: tag, ids: items.map(({ id }) => id) },
      }),
  };
}

function createTimeline(tag, entries, choice, selection, reload, signal) {
  const texts = new Map(entries.map((entry) => [entry.id, entry.memory]));
  const list = create("div", { class: "stack" });
  const past = create("div", { class: "stack" });
  let chains = buildChains(entries);
  let shownCount = SHOWN_AT_ONCE;

  const show = () => {
    const found = selectChains(chains, choice);
    const shown = found.slice(0, shownCount);
    choice.selectable = listSelectable(found);
    selection.show(listSelectable(shown), choice.selectable.length);
    const rows = shown.map((item) => createRow(tag, item, choice, texts, selection, reload));
    const more =
      found.length > shownCount &&
      createButton(`Show ${formatNumber(Math.min(SHOWN_AT_ONCE, found.length - shownCount))} more`, () => {
        shownCount += SHOWN_AT_ONCE;
        show();
      });
    replace(
      list,
      create("p", { class: "muted", role: "status" }, describeCount(found.length, choice)),
      groupByDay(rows),
      more,
    );
  };
  const change = (name) => (value) => {
    choice[name] = value;
    shownCount = SHOWN_AT_ONCE;
    show();
  };
  const changeClock = (clock) => {
    change("clock")(clock);
    choice.time = null;
    return load(
      past,
      { label: "the dates of earlier versions", signal },
      async () => {
        chains = buildChains(entries, clock === "said" ? await fetchDates(tag, chains, signal) : undefined);
        show();
      },
      () => createSlider(chains, choice, show),
    );
  };

  const search = create("input", {
    type: "search",
    value: choice.text,
    data: { search: "" },
    on: { input: debounce(() => change("text")(search.value.trim())) },
  });
  const states = Object.entries(STATES).map(([state, [label]]) => [state, label]);
  const kinds = [["", "Every kind"], ...KINDS.map((kind) => [kind, formatCode(kind)])];
  const clocks = [
    ["recorded", "When recorded"],
    ["said", "When said"],
  ];
  moveByArrows(list, ".words");
  moveByArrows(list, ".tick input");
  replace(past, createSlider(chains, choice, show));
  show();
  return create(
    "div",
    {},
    create(
      "div",
      { class: "fields", role: "search" },
      createField("Search in memories", search),
      createField("Show", createSelect(states, choice.state, change("state"))),
      createField("Kind", createSelect(kinds, choice.kind, change("kind"))),
      createField("Time", createSelect(clocks, choice.clock, changeClock)),
    ),
    past,
    selection.element,
    list,
  );
}

/** The list of memories has no dates of older versions, so those of the documents are read once. */
async function fetchDates(tag, chains, signal) {
  if (chains.every((chain) => chain.versions.length === 1)) {
    return new Map();
  }
  const documents = await requestPages(async (page) => {
    const answer = await request("POST", "/v3/documents/documents", {
      body: { containerTag: tag, limit: 200, page },
      signal,
    });
    return { entries: answer.documents, pagination: answer.pagination };
  });
  const memories = documents.flatMap((item) => item.memoryEntries);
  return new Map(memories.map((memory) => [memory.id, memory.temporalContext.documentDate]));
}

function createSlider(chains, choice, onChange) {
  const times = listTimes(chains, choice.clock);
  if (times.length < 2) {
    return create(
      "p",
      { class: "muted" },
      "All of these memories have the same time, so there is no past to go back to.",
    );
  }
  const output = create("output", {}, "now");
  const slider = create("input", { type: "range", min: 0, max: times.length, step: 1 });
  slider.value = choice.time === null ? times.length : times.indexOf(choice.time);
  const show = () => {
    choice.time = times[Number(slider.value)] ?? null;
    const text = choice.time === null ? "now" : FORMATS[choice.clock](choice.time);
    slider.setAttribute("aria-valuetext", text);
    replace(output, text);
  };
  const change = debounce(onChange, 60);
  slider.addEventListener("input", () => {
    show();
    change();
  });
  show();
  return create(
    "div",
    { class: "card" },
    createField(
      ["As of ", output],
      slider,
      choice.clock === "said"
        ? "What had been said by then, by the dates of the documents. Forgotten memories are left out."
        : "What had been recorded by then. What has been deleted since is not shown.",
    ),
  );
}

function selectChains(chains, { state, kind, text, clock, time }) {
  const wanted = text.toLocaleLowerCase();
  const found = [];
  for (const chain of chains) {
    const version = findVersion(chain, clock, time);
    const isForgotten = isForgottenAt(chain, clock, time);
    const isWanted = version && STATES[state][1](chain, isForgotten) && (!kind || chain.entry.kind === kind);
    if (isWanted && (chain.entry.id === text || version.memory.toLocaleLowerCase().includes(wanted))) {
      found.push({ chain, version, isForgotten });
    }
  }
  return found.sort((a, b) => b.version[clock].localeCompare(a.version[clock]));
}

function describeCount(count, { time, state, clock }) {
  if (count === 0) {
    return "No memory matches. Change the filters to see others.";
  }
  const what = formatCount(count, "memory", "memories");
  const isChosen = state !== "believed" && state !== "all";
  return [
    what,
    isChosen ? `, ${STATES[state][0].toLowerCase()}` : "",
    time === null ? "" : ` as of ${FORMATS[clock](time)}`,
  ].join("");
}

/** Only the present words of a memory can be forgotten. */
function listSelectable(found) {
  return found
    .filter(({ chain, version, isForgotten }) => version === chain.versions.at(-1) && !isForgotten)
    .map(({ chain }) => describeItem(chain.entry));
}

function describeItem({ id, memory }) {
  return { id, name: memory };
}

function createRow(tag, { chain, version, isForgotten }, { clock }, texts, selection, reload) {
  const { entry, versions } = chain;
  const isNow = version === versions.at(-1);
  const shown = isNow ? { ...entry, isForgotten } : describePast(entry, version);
  const element = create(
    "li",
    { class: "memory" },
    create(
      "div",
      { class: "ticked" },
      isNow && !isForgotten && selection.createBox(describeItem(entry)),
      create("p", { class: "words", dir: "auto", tabindex: 0 }, shown.memory),
    ),
    createMemoryActions(tag, shown, reload),
    createMemoryFacts(shown, isNow && createSources(tag, entry)),
    !isNow && createNext(versions, version, clock),
    versions.length > 1 && createVersions(versions, clock),
    isNow && createRelated(tag, entry, texts),
    entry.forgetReason && create("p", { class: "muted wrap", dir: "auto" }, `Reason: ${entry.forgetReason}`),
  );
  return { day: formatDay(version[clock]), element };
}

/** What is known of the present version, such as its sources and contradictions, does not hold for an earlier one. */
function describePast({ kind }, { memory, version, trust, said }) {
  return { memory, version, trust, kind, isLatest: false, temporalContext: { documentDate: said } };
}

function createNext(versions, version, clock) {
  const next = versions[versions.indexOf(version) + 1];
  return create(
    "p",
    { class: "wrap", dir: "auto" },
    "Replaced ",
    createTime(next[clock], FORMATS[clock]),
    ` by “${next.memory}”`,
  );
}

function createVersions(versions, clock) {
  const items = versions.map((version, index) =>
    create(
      "li",
      {},
      create(
        "span",
        { class: "muted" },
        createTime(version[clock], FORMATS[clock]),
        versions[index + 1] ? [" to ", createTime(versions[index + 1][clock], FORMATS[clock])] : " until now",
      ),
      create("span", { class: "wrap", dir: "auto" }, version.memory),
    ),
  );
  return create(
    "details",
    {},
    create("summary", {}, formatCount(versions.length, "version")),
    create("ol", { class: "versions" }, items.reverse()),
  );
}

function createRelated(tag, entry, texts) {
  const relations = Object.entries(entry.memoryRelations)
    .filter(([, relation]) => relation !== "updates")
    .map(([id, relation]) => [RELATIONS[relation], id]);
  const all = [...entry.contradicts.map((id) => ["Contradicted by", id]), ...relations];
  return all.map(([label, id]) =>
    create(
      "p",
      { class: "wrap related" },
      create("span", { class: "muted" }, `${label}: `),
      create(
        "a",
        { dir: "auto", href: linkTo(["containers", tag, "memories"], { find: id }) },
        texts.get(id) ?? "an earlier memory",
      ),
    ),
  );
}

function createSources(tag, entry) {
  const links = entry.documentIds.map((id, index) =>
    create(
      "a",
      { href: linkTo(["containers", tag, "documents", id], { memory: entry.id }) },
      entry.documentIds.length === 1 ? "Source document" : `Source ${index + 1}`,
    ),
  );
  return links.length > 0 && create("p", { class: "links" }, links);
}

function groupByDay(rows) {
  const days = new Map();
  for (const { day, element } of rows) {
    days.set(day, [...(days.get(day) ?? []), element]);
  }
  return [...days].map(([day, elements]) =>
    create(
      "section",
      { class: "day", "aria-label": day },
      create("h2", {}, day),
      create("ul", { class: "memories" }, elements),
    ),
  );
}

function createReview(tag, { memories, total }, entries, reload) {
  if (memories.length === 0) {
    return create(
      "p",
      { class: "muted" },
      "There is nothing to review. Conclusions that follow from several memories appear here.",
    );
  }
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const texts = new Map(entries.map((entry) => [entry.id, entry.memory]));
  const items = memories.map((memory) => createReviewItem(tag, memory, byId.get(memory.id), texts, reload));
  return create(
    "div",
    {},
    create(
      "p",
      { class: "muted" },
      `${formatCount(total, "conclusion")} drawn from several memories. An approved one counts like a statement; a declined one is forgotten and not drawn again.`,
    ),
    create("ul", { class: "memories" }, items),
  );
}

function createReviewItem(tag, memory, entry, texts, reload) {
  const errors = create("div", {});
  const send = (action) =>
    request("POST", `/v3/container-tags/${encodeURIComponent(tag)}/inferred/${memory.id}/review`, {
      body: { action },
    });
  const undo = () => send("undo").then(reload, (error) => notify(error.message));
  const decide = (action, done) => async (event) => {
    if (await runAction(event.currentTarget, errors, () => send(action))) {
      notify(done, { label: "Undo", action: undo });
      reload();
    }
  };
  const name = memory.memory.slice(0, 80);
  return create(
    "li",
    { class: "memory" },
    create("p", { class: "strong wrap", dir: "auto" }, memory.memory),
    entry
      ? createRelated(tag, entry, texts)
      : create("p", { class: "muted" }, `From ${formatCount(memory.parentCount, "memory", "memories")}`),
    errors,
    create(
      "div",
      { class: "actions" },
      createButton("Approve", decide("approve", "The conclusion is approved."), {
        kind: "small",
        icon: "done",
        "aria-label": `Approve: ${name}`,
      }),
      createButton("Decline", decide("decline", "The conclusion is declined."), {
        kind: "small",
        icon: "close",
        "aria-label": `Decline: ${name}`,
      }),
    ),
  );
}

function createExample(tag) {
  const body = JSON.stringify({ content: "My name is Ada. I live in London.", containerTag: tag }).replaceAll(
    "'",
    "'\\''",
  );
  return `curl ${serverAddress}/v3/documents \\\n  -H 'Authorization: Bearer YOUR_KEY' -H 'content-type: application/json' \\\n  -d '${body}'`;
}
