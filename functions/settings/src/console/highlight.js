/**
 * Marks the words of a query in a text. Case and accents do not count, and words are also found with simple endings, such
 * as "climb" and "climbing". Scripts without spaces between words are searched for parts.
 */

import { create } from "./dom.js";

/** The most that is read of a text, so that a long one does not freeze the page. */
const MOST_CHARACTERS = 400_000;

/** The most places that are marked in a text. */
export const MOST_MARKS = 1000;

const MOST_WORDS = 50;
const INFLECTED_LETTERS = 4;
const ENDING_LETTERS = 3;
const EXCERPT_START = 160;
const EXCERPT_LEAD = 60;

/** Scripts without spaces between words. The sign for long vowels belongs to Japanese. */
const UNSPACED = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("");
const WORDS = new RegExp(`(?<unspaced>[${UNSPACED}ー]+)|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}ー]]+`, "gv");
const ACCENTS = /[\u0300-\u036f]/g;
const LETTERS = /^\p{L}+$/u;
const PARTICLE = /^\p{Script=Hiragana}$/u;

/** English words that say little about a text. They are marked only if a query has no others. */
const COMMON_WORDS = new Set(
  (
    "a about an and are as at be been but by can did do does for from had has have he her his how i if in is it its " +
    "me my no not of on or our she so that the their them there they this to was we were what when where which who " +
    "why will with you your"
  ).split(" "),
);

/** Returns what to look for in texts: the words of a query, and parts for scripts without spaces. */
export function readQuery(query = "") {
  const words = [];
  const parts = [];
  for (const { 0: word, groups } of [...query.matchAll(WORDS)].slice(0, MOST_WORDS)) {
    if (groups.unspaced) {
      parts.push(...splitUnspaced(word));
    } else {
      words.push(fold(word));
    }
  }

  const distinct = [...new Set(words)];
  const rare = distinct.filter((word) => !COMMON_WORDS.has(word));
  return {
    words: rare.length > 0 || parts.length > 0 ? rare : distinct,
    // They have letters alone, so nothing in them is an operator.
    parts: parts.length > 0 ? new RegExp(parts.sort(compareLength).join("|"), "g") : null,
  };
}

/** Returns the places of the words of a query, in code units. Only the surroundings of `near` are searched. */
export function findWords(text, { words, parts }, near = 0) {
  const first = Math.max(0, Math.min(near - MOST_CHARACTERS / 2, text.length - MOST_CHARACTERS));
  const isWanted = rememberAnswers((word) => {
    const folded = fold(word);
    return words.some((wanted) => isSameWord(folded, wanted));
  });
  const places = [];
  for (const { 0: word, index, groups } of text.slice(first, first + MOST_CHARACTERS).matchAll(WORDS)) {
    const start = first + index;
    if (groups.unspaced && parts) {
      for (const part of word.matchAll(parts)) {
        places.push({ start: start + part.index, end: start + part.index + part[0].length });
      }
    } else if (!groups.unspaced && isWanted(word)) {
      places.push({ start, end: start + word.length });
    }
    if (places.length >= MOST_MARKS) {
      break;
    }
  }
  return places.slice(0, MOST_MARKS);
}

/** Returns the nodes of a text with marks at these places, which are in order. */
export function createMarked(text, places) {
  const nodes = [];
  let end = 0;
  for (const place of places) {
    nodes.push(text.slice(end, place.start), create("mark", {}, text.slice(place.start, place.end)));
    end = place.end;
  }
  return [...nodes, text.slice(end)];
}

/** Returns the nodes of a text with the words of a query marked. */
export function markWords(text, wanted) {
  return createMarked(text, findWords(text, wanted));
}

/** Returns the nodes of a text that begins shortly before the first word of a query. */
export function markExcerpt(text, wanted) {
  const first = findWords(text, wanted)[0]?.start ?? 0;
  if (first < EXCERPT_START) {
    return markWords(text, wanted);
  }
  const start = text.lastIndexOf(" ", first - EXCERPT_LEAD) + 1 || first;
  return ["… ", ...markWords(text.slice(start), wanted)];
}

/** Returns the words of a text without spaces. Particles of one letter are left out. */
function splitUnspaced(text) {
  const segments = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text.normalize())];
  const words = segments.map(({ segment }) => segment).filter((word) => !PARTICLE.test(word));
  return words.length > 0 ? words : [text];
}

function compareLength(one, other) {
  return other.length - one.length;
}

/** Returns a text in lower case and without accents. */
function fold(text) {
  return text.toLowerCase().normalize("NFD").replace(ACCENTS, "").normalize("NFC");
}

/** Tells whether two words are equal, or one is the other with a short ending. */
function isSameWord(word, other) {
  const [short, long] = word.length < other.length ? [word, other] : [other, word];
  return (
    short === long ||
    (short.length >= INFLECTED_LETTERS &&
      long.length - short.length <= ENDING_LETTERS &&
      long.startsWith(short) &&
      LETTERS.test(long))
  );
}

/** Returns the same function, which works out the answer for each value once. */
function rememberAnswers(answer) {
  const known = new Map();
  return (value) => {
    if (!known.has(value)) {
      known.set(value, answer(value));
    }
    return known.get(value);
  };
}
