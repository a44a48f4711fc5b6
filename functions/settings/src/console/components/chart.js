/** A plot of values over time, as bars or as a line, with a table of the same values. */

import { create, createSvg } from "../dom.js";
import { createTable } from "./parts.js";

const WIDTH = 290;
const HEIGHT = 180;
const MARGIN = { left: 52, right: 8, top: 10, bottom: 24 };
const TICKS = 4;
const TIMES = 4;

/**
 * Creates the plot. A point has a time and a value, which is null where there is nothing to show. `kind` is "bars" or
 * "line"; `formatValue` and `formatMoment` turn values and times into texts.
 */
export function createChart({ title, points, kind, formatValue, formatMoment }) {
  const highest = roundUp(Math.max(...points.map((point) => point.value ?? 0), 0));
  const scale = createScale(points.length, highest);
  const shapes =
    kind === "bars"
      ? createBars(points, scale, formatValue, formatMoment)
      : createLine(points, scale, formatValue, formatMoment);
  const known = points.filter((point) => point.value !== null && point.value > 0);
  return create(
    "figure",
    { class: "card chart" },
    create("figcaption", { class: "strong" }, title),
    createSvg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: "img",
        "aria-label": `${title}. The table below has the values.`,
      },
      createGrid(highest, scale, formatValue),
      createMoments(points, scale, formatMoment),
      shapes,
    ),
    create(
      "details",
      {},
      create("summary", {}, "Values as a table"),
      known.length
        ? createTable(
            title,
            ["Time", "Value"],
            known.map((point) => [formatMoment(point.time), formatValue(point.value)]),
          )
        : create("p", { class: "muted" }, "There is no value in this period."),
    ),
  );
}

function createScale(count, highest) {
  const width = WIDTH - MARGIN.left - MARGIN.right;
  const height = HEIGHT - MARGIN.top - MARGIN.bottom;
  return {
    step: width / Math.max(count, 1),
    x: (index) => MARGIN.left + (index + 0.5) * (width / Math.max(count, 1)),
    y: (value) => MARGIN.top + height * (1 - value / highest),
  };
}

function createBars(points, { x, y, step }, formatValue, formatMoment) {
  const width = Math.max(step - Math.min(3, step / 3), 1);
  return points.map(
    ({ time, value }, index) =>
      value > 0 &&
      createSvg(
        "rect",
        {
          class: "bar-fill",
          x: x(index) - width / 2,
          y: y(value),
          width,
          height: Math.max(y(0) - y(value), 1),
        },
        createSvg("title", {}, `${formatMoment(time)}: ${formatValue(value)}`),
      ),
  );
}

/** The line has a gap where a value is missing, and dots so that a single value is seen. */
function createLine(points, { x, y }, formatValue, formatMoment) {
  let isOpen = false;
  const path = points
    .map(({ value }, index) => {
      const command = isOpen ? "L" : "M";
      isOpen = value !== null;
      return isOpen ? `${command}${x(index)} ${y(value)}` : "";
    })
    .join("");
  const dots = points.map(
    ({ time, value }, index) =>
      value !== null &&
      createSvg(
        "circle",
        { class: "bar-fill", cx: x(index), cy: y(value), r: 3 },
        createSvg("title", {}, `${formatMoment(time)}: ${formatValue(value)}`),
      ),
  );
  return [createSvg("path", { class: "line", d: path || "M0 0" }), dots];
}

function createGrid(highest, { y }, formatValue) {
  return Array.from({ length: TICKS + 1 }, (_, index) => {
    const value = (highest / TICKS) * index;
    return [
      createSvg("line", {
        class: "grid",
        x1: MARGIN.left,
        x2: WIDTH - MARGIN.right,
        y1: y(value),
        y2: y(value),
      }),
      createSvg(
        "text",
        { class: "tick", x: MARGIN.left - 6, y: y(value) + 4, "text-anchor": "end" },
        formatValue(value),
      ),
    ];
  });
}

function createMoments(points, { x }, formatMoment) {
  const every = Math.max(Math.ceil(points.length / TIMES), 1);
  return points.map(
    ({ time }, index) =>
      index % every === 0 &&
      createSvg(
        "text",
        { class: "tick", x: x(index), y: HEIGHT - 6, "text-anchor": "middle" },
        formatMoment(time),
      ),
  );
}

/** Returns the next round number that four steps divide well. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 4)));
  return [1, 2, 4, 6, 8, 10, 12, 16, 20, 40]
    .map((factor) => factor * power)
    .find((round) => round >= value && round >= 4);
}
