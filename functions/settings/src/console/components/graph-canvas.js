/** Draws a graph on a canvas that can be moved and enlarged with the pointer, the wheel and the keys. */

import { create } from "../dom.js";
import { moveNodes, placeNodes } from "./graph-layout.js";

const STEPS = 260;
const STEPS_AT_ONCE = 4;
const NEAR = 12;
const SMALLEST_SCALE = 0.1;
const LARGEST_SCALE = 5;
const LABEL_LENGTH = 34;
const LABEL_SCALE = 1.5;
const LABEL_HEIGHT = 16;
const LABEL_GAP = 4;
/** The number of nodes up to which labels leave all of them free. */
const MOST_AVOIDED = 400;
const KEYS = {
  ArrowLeft: [60, 0],
  ArrowRight: [-60, 0],
  ArrowUp: [0, 60],
  ArrowDown: [0, -60],
};

/**
 * Creates the canvas. A node has a label, a group ("memory", "document", "forgotten", "conclusion") and a size; an
 * edge has a source, a target and a kind. `onChoose` is called with the node that is clicked, or with null.
 *
 * Returns the element, `choose` to show a node, `mark` to emphasize the nodes that a test accepts, and `fit`.
 */
export function createGraphCanvas({ nodes, edges, label, signal, onChoose }) {
  const canvas = create("canvas", { class: "graph-canvas", tabindex: 0, role: "img", "aria-label": label });
  const view = { x: 0, y: 0, scale: 1, width: 0, height: 0, isFitted: true };
  const state = { chosen: null, pointed: null, isMarked: null, neighbours: new Set() };
  let isDrawing = false;

  const draw = () => {
    if (!isDrawing) {
      isDrawing = true;
      requestAnimationFrame(() => {
        isDrawing = false;
        drawGraph(canvas, nodes, edges, view, state);
      });
    }
  };
  const fit = () => {
    view.isFitted = true;
    fitView(nodes, view);
    draw();
  };
  const emphasize = (node) => {
    state.neighbours = findNeighbours(edges, node);
    draw();
  };
  const choose = (node, { isCentred = false } = {}) => {
    state.chosen = node;
    if (node && isCentred) {
      view.isFitted = false;
      Object.assign(view, { x: -node.x, y: -node.y, scale: Math.max(view.scale, LABEL_SCALE) });
    }
    emphasize(node);
  };

  const size = new ResizeObserver(() => {
    resize(canvas, view);
    (view.isFitted ? fit : draw)();
  });
  size.observe(canvas);
  signal.addEventListener("abort", () => size.disconnect());
  document.addEventListener("themechange", draw, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  listen(canvas, nodes, view, state, {
    draw,
    emphasize,
    fit,
    choose: (node) => {
      choose(node);
      onChoose(node);
    },
  });
  settle(nodes, edges, signal, () => {
    if (view.isFitted) {
      fitView(nodes, view);
    }
    draw();
  });

  return {
    element: canvas,
    choose,
    fit,
    mark: (isMarked) => {
      state.isMarked = isMarked;
      draw();
    },
  };
}

/** Lets the layout settle step by step. A person who wants no motion sees only the end of it. */
function settle(nodes, edges, signal, onStep) {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let step = 0;
  const next = () => {
    for (const end = step + STEPS_AT_ONCE; step < end; step += 1) {
      moveNodes(nodes, edges, Math.max(1 - step / STEPS, 0));
    }
    if (!isStill || step >= STEPS) {
      onStep();
    }
    if (step < STEPS && !signal.aborted) {
      requestAnimationFrame(next);
    }
  };
  placeNodes(nodes);
  next();
}

function listen(canvas, nodes, view, state, { draw, emphasize, fit, choose }) {
  let drag = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    drag = { at: at(event), hasMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (drag) {
      const [moveX, moveY] = [x - drag.at[0], y - drag.at[1]];
      drag.hasMoved ||= Math.hypot(moveX, moveY) > 4;
      if (drag.hasMoved) {
        drag.at = [x, y];
        moveView(view, moveX, moveY);
        draw();
      }
    } else {
      point(findNode(nodes, view, x, y));
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.hasMoved) {
      choose(findNode(nodes, view, ...at(event)));
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoom(view, Math.exp(-event.deltaY * 0.0015), ...at(event));
      draw();
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (handleKey(event, view, fit)) {
      event.preventDefault();
      draw();
    }
  });

  function point(node) {
    if (node !== state.pointed) {
      state.pointed = node;
      canvas.classList.toggle("pointing", Boolean(node));
      emphasize(node ?? state.chosen);
    }
  }
}

function handleKey({ key }, view, fit) {
  if (key in KEYS) {
    moveView(view, ...KEYS[key]);
  } else if (key === "+" || key === "=") {
    zoom(view, 1.25, view.width / 2, view.height / 2);
  } else if (key === "-") {
    zoom(view, 0.8, view.width / 2, view.height / 2);
  } else if (key === "0") {
    fit();
  } else {
    return false;
  }
  return true;
}

function moveView(view, x, y) {
  view.isFitted = false;
  view.x += x / view.scale;
  view.y += y / view.scale;
}

function zoom(view, factor, x, y) {
  const scale = Math.min(Math.max(view.scale * factor, SMALLEST_SCALE), LARGEST_SCALE);
  const [left, top] = [x - view.width / 2, y - view.height / 2];
  view.x += left / scale - left / view.scale;
  view.y += top / scale - top / view.scale;
  view.scale = scale;
  view.isFitted = false;
}

function fitView(nodes, view) {
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  view.x = -(left + right) / 2;
  view.y = -(top + bottom) / 2;
  view.scale = Math.min(view.width / (right - left + 80), view.height / (bottom - top + 80), 2) || 1;
}

function resize(canvas, view) {
  const ratio = devicePixelRatio || 1;
  view.width = canvas.clientWidth;
  view.height = canvas.clientHeight;
  canvas.width = Math.round(view.width * ratio);
  canvas.height = Math.round(view.height * ratio);
}

function toScreen(node, view) {
  return [(node.x + view.x) * view.scale + view.width / 2, (node.y + view.y) * view.scale + view.height / 2];
}

function findNode(nodes, view, x, y) {
  let best = null;
  let nearest = NEAR;
  for (const node of nodes) {
    const [left, top] = toScreen(node, view);
    const distance = Math.hypot(left - x, top - y);
    if (distance < nearest) {
      [best, nearest] = [node, distance];
    }
  }
  return best;
}

function findNeighbours(edges, node) {
  const near = edges.filter((edge) => edge.source === node || edge.target === node);
  return new Set(node ? [node, ...near.flatMap((edge) => [edge.source, edge.target])] : []);
}

function drawGraph(canvas, nodes, edges, view, state) {
  const context = canvas.getContext("2d");
  const colours = readColours(canvas);
  const ratio = devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  for (const edge of edges) {
    drawEdge(context, edge, view, state, colours);
  }
  for (const node of nodes) {
    drawNode(context, node, view, state, colours);
  }
  drawLabels(context, nodes, view, state, colours);
}

/** The colours of the style sheet, which differ between light and dark. */
function readColours(canvas) {
  const style = getComputedStyle(canvas);
  return Object.fromEntries(
    ["memory", "document", "conclusion", "forgotten", "edge", "contradicts", "label", "halo"].map((name) => [
      name,
      style.getPropertyValue(`--graph-${name}`),
    ]),
  );
}

function isDim(node, { isMarked, neighbours }) {
  return (neighbours.size > 0 && !neighbours.has(node)) || (isMarked !== null && !isMarked(node));
}

function drawEdge(context, { source, target, kind }, view, state, colours) {
  context.globalAlpha = isDim(source, state) || isDim(target, state) ? 0.12 : 0.7;
  context.strokeStyle = kind === "contradicts" ? colours.contradicts : colours.edge;
  context.lineWidth = kind === "source" ? 0.7 : 1.6;
  context.setLineDash(kind === "contradicts" ? [4, 3] : []);
  context.beginPath();
  context.moveTo(...toScreen(source, view));
  context.lineTo(...toScreen(target, view));
  context.stroke();
}

function drawNode(context, node, view, state, colours) {
  const [x, y] = toScreen(node, view);
  const radius = radiusOf(node, view);
  context.globalAlpha = isDim(node, state) ? 0.2 : 1;
  context.fillStyle = colours[node.group];
  context.beginPath();
  if (node.group === "document") {
    context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  } else {
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fill();
  if (node === state.chosen) {
    context.setLineDash([]);
    context.strokeStyle = colours.label;
    context.lineWidth = 2;
    context.stroke();
  }
}

function radiusOf({ size }, { scale }) {
  return Math.max(size * Math.min(Math.sqrt(scale), 1.6), 2);
}

/** Labels stand where they cover no other label and no node: first those of emphasized nodes, then others if enlarged enough. */
function drawLabels(context, nodes, view, state, colours) {
  const isEmphasized = (node) => state.neighbours.has(node) || (state.isMarked?.(node) ?? false);
  const wanted = nodes.filter(
    (node) => isEmphasized(node) || (view.scale >= LABEL_SCALE && !isDim(node, state)),
  );
  const first = (node) => (node === state.chosen || node === state.pointed ? 0 : isEmphasized(node) ? 1 : 2);
  const placed = nodes.length <= MOST_AVOIDED ? nodes.map((node) => boxOfNode(node, view)) : [];
  context.globalAlpha = 1;
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  for (const node of wanted.sort((a, b) => first(a) - first(b))) {
    const text = node.label.length > LABEL_LENGTH ? `${node.label.slice(0, LABEL_LENGTH)}…` : node.label;
    const places = listPlaces(boxOfNode(node, view), context.measureText(text).width);
    const box = places.find(
      (place) => isWithin(place, view) && !placed.some((other) => overlap(place, other)),
    );
    if (box) {
      placed.push(box);
      drawLabel(context, text, box, colours);
    }
  }
}

function drawLabel(context, text, { left, top, bottom }, colours) {
  const y = (top + bottom) / 2;
  context.lineWidth = 3;
  context.setLineDash([]);
  context.strokeStyle = colours.halo;
  context.strokeText(text, left, y);
  context.fillStyle = colours.label;
  context.fillText(text, left, y);
}

function boxOfNode(node, view) {
  const [x, y] = toScreen(node, view);
  const radius = radiusOf(node, view);
  return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
}

/** Returns the places of a label in the order in which they are tried: right of its node, left, below, above. */
function listPlaces({ left, right, top, bottom }, width) {
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  const place = (from, middle) => ({
    left: from,
    right: from + width,
    top: middle - LABEL_HEIGHT / 2,
    bottom: middle + LABEL_HEIGHT / 2,
  });
  return [
    place(right + LABEL_GAP, y),
    place(left - LABEL_GAP - width, y),
    place(x - width / 2, bottom + LABEL_HEIGHT / 2),
    place(x - width / 2, top - LABEL_HEIGHT / 2),
  ];
}

function isWithin({ left, right, top, bottom }, { width, height }) {
  return left >= 0 && right <= width && top >= 0 && bottom <= height;
}

function overlap(one, other) {
  return (
    one.left <= other.right && one.right >= other.left && one.top <= other.bottom && one.bottom >= other.top
  );
}
