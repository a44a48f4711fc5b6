/** The graph of a container: its memories, the relations among them, and the documents they came from. */

import { request } from "../api.js";
import { createGraphCanvas } from "../components/graph-canvas.js";
import { moveByArrows } from "../components/keyboard.js";
import { load } from "../components/load.js";
import { createMemoryActions, createMemoryFacts } from "../components/memory.js";
import {
  createButton,
  createCheck,
  createEmpty,
  createField,
  createHead,
  createSelect,
} from "../components/parts.js";
import { create, debounce, replace } from "../dom.js";
import { formatCount, formatNumber, nameDocument } from "../format.js";
import { linkTo } from "../router.js";
import { fetchMemories } from "./memories.js";

const MOST_LISTED = 100;
const MOST_NAMES = 1100;
const MOST_NODES = [
  [300, "300 newest"],
  [1000, "1,000 newest"],
  [3000, "3,000 newest"],
];
const RELATIONS = {
  updates: ["Replaces", "Replaced by"],
  extends: ["Extends", "Extended by"],
  derives: ["Follows from", "Leads to"],
  contradicts: ["Contradicts", "Contradicts"],
  source: ["Stated in", "States"],
};

/** Shows the graph of a container. */
export function showGraph(page, { parameters: { tag }, signal }) {
  const content = create("div", { class: "stack" });
  const choice = { most: 1000, hasDocuments: true, hasVersions: true };
  const show = () =>
    load(
      content,
      { label: "memories", signal },
      () => fetchAll(tag, signal),
      ({ entries, names }) => {
        if (entries.length === 0) {
          return createEmpty(
            "This container has no memory yet. Add a text, then its memories appear here.",
            null,
          );
        }
        return createExplorer(tag, entries, names, choice, signal, show);
      },
    );

  replace(
    page,
    createHead(`Graph of ${tag}`, {
      text: "Memories, the relations among them, and the documents they came from.",
    }),
    content,
  );
  show();
}

async function fetchAll(tag, signal) {
  const [entries, { memories }] = await Promise.all([
    fetchMemories(tag, () => {}, signal),
    request("POST", "/v3/documents/list", { body: { containerTag: tag, limit: MOST_NAMES }, signal }),
  ]);
  return { entries, names: new Map(memories.map((item) => [item.id, nameDocument(item)])) };
}

function createExplorer(tag, entries, names, choice, signal, reload) {
  const place = create("div", {});
  const draw = () =>
    replace(
      place,
      createGraph(
        tag,
        buildGraph(entries.slice(0, choice.most), names, choice),
        entries.length,
        signal,
        reload,
      ),
    );
  const change = (name) => (value) => {
    choice[name] = value;
    draw();
  };
  const sizes = MOST_NODES.map(([value, label]) => [String(value), label]);
  draw();
  return [
    create(
      "div",
      { class: "checks" },
      entries.length > MOST_NODES[0][0] &&
        create(
          "label",
          { class: "check" },
          "Memories",
          createSelect(sizes, String(choice.most), (value) => change("most")(Number(value))),
        ),
      createCheck("Documents", choice.hasDocuments, change("hasDocuments")),
      createCheck("Earlier versions", choice.hasVersions, change("hasVersions")),
    ),
    place,
  ];
}

/** Returns nodes and edges. The same memory is one node, whether it is in the list or in a history. */
function buildGraph(entries, names, { hasDocuments, hasVersions }) {
  const nodes = new Map();
  const edges = [];
  const add = (id, node) => {
    nodes.set(id, nodes.get(id) ?? { id, ...node });
    return nodes.get(id);
  };
  for (const entry of entries) {
    add(entry.id, { label: entry.memory, entry, group: groupOf(entry), size: 5 });
  }
  for (const entry of entries) {
    const older = hasVersions ? entry.history : [];
    const chain = [entry, ...older];
    older.forEach((version, index) => {
      add(version.id, {
        label: version.memory,
        entry: { ...version, contradicts: [] },
        group: "forgotten",
        size: 3.5,
      });
      edges.push([chain[index].id, version.id, "updates"]);
    });
    Object.entries(entry.memoryRelations)
      .filter(([, kind]) => kind !== "updates")
      .forEach(([id, kind]) => edges.push([entry.id, id, kind]));
    entry.contradicts
      .filter((id) => entry.id < id)
      .forEach((id) => edges.push([entry.id, id, "contradicts"]));
    for (const id of hasDocuments ? entry.documentIds : []) {
      add(id, { label: names.get(id) ?? `Document ${id}`, group: "document", size: 4 });
      edges.push([entry.id, id, "source"]);
    }
  }
  const known = edges.filter(([source, target]) => nodes.has(source) && nodes.has(target));
  return {
    nodes: [...nodes.values()],
    edges: known.map(([source, target, kind]) => ({
      source: nodes.get(source),
      target: nodes.get(target),
      kind,
    })),
  };
}

function groupOf(entry) {
  if (entry.isForgotten) {
    return "forgotten";
  }
  return entry.isInference ? "conclusion" : "memory";
}

function createGraph(tag, { nodes, edges }, total, signal, reload) {
  const details = create("div", { class: "stack", "aria-live": "polite" });
  const showDetails = (node) =>
    replace(
      details,
      node
        ? createDetails(tag, node, edges, choose, reload)
        : create("p", { class: "muted" }, "Choose a node of the graph or of the list to see its details."),
    );
  const canvas = createGraphCanvas({
    nodes,
    edges,
    signal,
    label: `Graph of ${formatCount(nodes.length, "node")} and ${formatCount(edges.length, "relation")}. The list beside it has the same content. Arrow keys move the graph, plus and minus enlarge and reduce it, 0 shows all of it.`,
    onChoose: showDetails,
  });
  const choose = (node) => {
    canvas.choose(node, { isCentred: true });
    showDetails(node);
  };
  const list = createNodeList(nodes, canvas, choose);
  showDetails(null);
  return create(
    "div",
    { class: "graph" },
    create(
      "div",
      { class: "stack" },
      canvas.element,
      createLegend(),
      create(
        "div",
        { class: "graph-help" },
        create(
          "p",
          { class: "help" },
          `${formatCount(nodes.length, "node")}, ${formatCount(edges.length, "relation")}, of ${formatCount(total, "memory", "memories")}. Drag to move, turn the wheel to enlarge, or use the arrow keys, plus, minus and 0.`,
        ),
        createButton("Show all of it", canvas.fit, { kind: "small" }),
      ),
    ),
    create("div", { class: "stack" }, list, details),
  );
}

function createNodeList(nodes, canvas, choose) {
  const list = create("ul", { class: "choices" });
  const count = create("p", { class: "muted", role: "status" });
  const show = (text) => {
    const wanted = text.trim().toLocaleLowerCase();
    const isFound = (node) => node.label.toLocaleLowerCase().includes(wanted);
    const found = nodes.filter(isFound);
    canvas.mark(wanted ? isFound : null);
    replace(
      list,
      found.slice(0, MOST_LISTED).map((node) =>
        create(
          "li",
          {},
          createButton(create("span", { class: "cut", dir: "auto" }, node.label), () => choose(node), {
            kind: "choice",
          }),
        ),
      ),
    );
    replace(
      count,
      found.length > MOST_LISTED
        ? `The first ${MOST_LISTED} of ${formatNumber(found.length)} nodes`
        : formatCount(found.length, "node"),
    );
  };
  const search = create("input", {
    type: "search",
    data: { search: "" },
    on: { input: debounce(() => show(search.value)) },
  });
  moveByArrows(list, "button");
  show("");
  return create("div", { class: "stack" }, createField("Search in the graph", search), count, list);
}

function createDetails(tag, node, edges, choose, reload) {
  const relations = edges
    .filter((edge) => edge.source === node || edge.target === node)
    .map(({ source, target, kind }) => {
      const [label, other] = source === node ? [RELATIONS[kind][0], target] : [RELATIONS[kind][1], source];
      return create(
        "li",
        {},
        createButton(
          [
            create("span", { class: "muted" }, label),
            create("span", { class: "wrap", dir: "auto" }, other.label),
          ],
          () => choose(other),
          { kind: "choice related-choice" },
        ),
      );
    });
  const link =
    node.group === "document"
      ? create("a", { href: linkTo(["containers", tag, "documents", node.id]) }, "Open the document")
      : create(
          "a",
          { href: linkTo(["containers", tag, "memories"], { find: node.id }) },
          "Open in the timeline",
        );
  return create(
    "section",
    { class: "card", "aria-label": "Details" },
    create("h2", { class: "wrap", dir: "auto" }, node.label),
    node.entry && createMemoryFacts(node.entry),
    create("p", {}, link),
    relations.length > 0 && create("ul", { class: "choices" }, relations),
    node.entry && createMemoryActions(tag, node.entry, reload),
  );
}

function createLegend() {
  const groups = [
    ["memory", "Memory"],
    ["conclusion", "Conclusion"],
    ["forgotten", "Earlier version or forgotten"],
    ["document", "Document"],
  ];
  return create(
    "ul",
    { class: "legend" },
    groups.map(([group, label]) => create("li", { class: `legend-${group}` }, label)),
  );
}
