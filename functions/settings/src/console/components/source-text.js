/**
 * A text in which the sources of memories are marked, and highlighted when they are pointed at. The words of a query are
 * marked as well.
 */

import { create } from "../dom.js";
import { createMarked, findWords } from "../highlight.js";
import { moveByArrows } from "./keyboard.js";

/**
 * Creates the text. A range has a start and an end in characters, a key, and `isMark` if it can be pointed at.
 *
 * `onPoint` is called with the keys under the pointer or the focus, and with none when it leaves; `onChoose` with the
 * keys of a mark that is clicked. `wanted` has the words of a query, which are looked for around the range `nearKey`.
 *
 * `wordCount` is the number of places of these words. `highlight` shows the ranges of some keys, and scrolls to the first
 * of them if asked.
 */
export function createSourceText(text, ranges, { onPoint, onChoose, wanted, nearKey }) {
  const placed = toCodeUnits(text, ranges);
  const words = findWords(text, wanted, placed.find(({ key }) => key === nearKey)?.start);
  const parts = splitText(text, placed).map((part) => createPart(part, words, onPoint, onChoose));
  const element = create(
    "div",
    { class: "source-text", dir: "auto", tabindex: 0, role: "group", "aria-label": "Text of the document" },
    parts.map((part) => part.element),
  );
  moveByArrows(element, ".source-mark", { isOneStop: true });

  const highlight = (keys, { isScrolled = false } = {}) => {
    const wanted = new Set(keys);
    let first = null;
    for (const part of parts) {
      const isWanted = part.keys.some((key) => wanted.has(key));
      part.element.classList?.toggle("active", isWanted);
      first ??= isWanted ? part.element : null;
    }
    if (first && isScrolled) {
      scrollWithin(element, first);
    }
  };
  return { element, highlight, wordCount: words.length };
}

function createPart({ start, text, keys, marked }, words, onPoint, onChoose) {
  const content = createMarked(text, cutPlaces(words, start, start + text.length));
  if (marked.length === 0) {
    return { element: create("span", {}, content), keys };
  }
  const choose = () => onChoose(marked);
  const element = create(
    "span",
    {
      class: "source-mark",
      role: "button",
      tabindex: -1,
      on: {
        mouseenter: () => onPoint(marked),
        mouseleave: () => onPoint([]),
        focus: () => onPoint(marked),
        blur: () => onPoint([]),
        click: choose,
        keydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            choose();
          }
        },
      },
    },
    content,
  );
  return { element, keys };
}

/** Returns what of some places is in a part of the text, counted from the start of the part. */
function cutPlaces(places, start, end) {
  return places
    .filter((place) => place.start < end && place.end > start)
    .map((place) => ({ start: Math.max(place.start, start) - start, end: Math.min(place.end, end) - start }));
}

/** Cuts the text at the ends of all ranges. */
function splitText(text, ranges) {
  const cuts = [...new Set([0, text.length, ...ranges.flatMap(({ start, end }) => [start, end])])].sort(
    (a, b) => a - b,
  );
  const sorted = [...ranges].sort((a, b) => a.start - b.start);
  const parts = [];
  let open = [];
  let next = 0;
  for (let index = 0; index + 1 < cuts.length; index += 1) {
    const [start, end] = [cuts[index], cuts[index + 1]];
    while (next < sorted.length && sorted[next].start <= start) {
      open.push(sorted[next]);
      next += 1;
    }
    open = open.filter((range) => range.end > start);
    parts.push({
      start,
      text: text.slice(start, end),
      keys: open.map((range) => range.key),
      marked: open.filter((range) => range.isMark).map((range) => range.key),
    });
  }
  return parts;
}

/** The API counts characters (code points), and JavaScript counts code units. */
function toCodeUnits(text, ranges) {
  const wanted = [...new Set(ranges.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const units = new Map();
  let unit = 0;
  let point = 0;
  for (const limit of wanted) {
    while (point < limit && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    units.set(limit, unit);
  }
  return ranges.map((range) => ({ ...range, start: units.get(range.start), end: units.get(range.end) }));
}

function scrollWithin(container, part) {
  const [outer, inner] = [container.getBoundingClientRect(), part.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    container.scrollTop += inner.top - outer.top - outer.height / 3;
  }
}
