/** Pictures of scores: the parts of one score as bars, and all scores on a strip with the threshold. */

import { create, createSvg, uniqueId } from "../dom.js";
import { formatCount, formatDecimal } from "../format.js";
import { createField } from "./parts.js";

const PARTS = [
  ["lexical", "Words"],
  ["vector", "Meaning"],
  ["context", "Context"],
];
const STRIP_WIDTH = 1000;
const STRIP_HEIGHT = 36;
const STEP = 0.01;

/**
 * Creates bars for the parts of a score. Each part has a scale of its own, so its bar is compared with the greatest
 * value of that part among all results.
 */
export function createScoreBars(scores, all) {
  const rows = PARTS.map(([part, label]) => {
    const greatest = Math.max(...all.map((other) => other[part]), 0);
    const share = greatest > 0 ? Math.max(scores[part], 0) / greatest : 0;
    return create(
      "li",
      {},
      create("span", {}, label),
      createBar(share),
      create("span", { class: "value" }, formatDecimal(scores[part])),
    );
  });
  return create(
    "ul",
    { class: "score-bars", "aria-label": "Parts of the score; each bar is relative to the best result" },
    rows,
  );
}

/**
 * Creates a strip with a mark for each score, and the threshold on it, which can be dragged and moved by the arrow
 * keys. `onChange` is called with the new threshold.
 */
export function createScoreStrip(scores, threshold, onChange) {
  const marks = scores.map((score) =>
    createSvg("line", {
      x1: score * STRIP_WIDTH,
      x2: score * STRIP_WIDTH,
      y1: 6,
      y2: STRIP_HEIGHT - 6,
      "vector-effect": "non-scaling-stroke",
    }),
  );
  const line = createSvg("line", {
    class: "threshold",
    y1: 0,
    y2: STRIP_HEIGHT,
    "vector-effect": "non-scaling-stroke",
  });
  const output = create("output", { class: "strong" }, formatDecimal(threshold));
  const slider = create("input", { type: "range", min: 0, max: 1, step: STEP, id: uniqueId("threshold") });
  slider.value = threshold;
  const show = () => {
    const value = Number(slider.value);
    output.textContent = formatDecimal(value);
    line.setAttribute("x1", value * STRIP_WIDTH);
    line.setAttribute("x2", value * STRIP_WIDTH);
    scores.forEach((score, index) => marks[index].classList.toggle("above", score >= value));
    slider.setAttribute(
      "aria-valuetext",
      `${formatDecimal(value)}: ${formatCount(scores.filter((score) => score >= value).length, "result")}`,
    );
  };
  slider.addEventListener("input", () => {
    show();
    onChange(Number(slider.value));
  });
  show();
  const strip = create(
    "div",
    { class: "strip" },
    createSvg(
      "svg",
      { viewBox: `0 0 ${STRIP_WIDTH} ${STRIP_HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      marks,
      line,
    ),
    slider,
    create("span", { "aria-hidden": "true" }, formatDecimal(0)),
    create("span", { "aria-hidden": "true" }, formatDecimal(1)),
  );
  const field = createField(
    ["Threshold ", output],
    strip,
    "Each line is a result. Drag the threshold, or move it with the arrow keys.",
  );
  field.querySelector("label").htmlFor = slider.id;
  slider.setAttribute("aria-describedby", `${strip.id}-help`);
  strip.removeAttribute("aria-describedby");
  return create("div", { class: "card" }, field);
}

function createBar(share) {
  return createSvg(
    "svg",
    { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    createSvg("rect", { class: "track", width: 100, height: 8 }),
    createSvg("rect", { class: "bar-fill", width: share * 100, height: 8 }),
  );
}
