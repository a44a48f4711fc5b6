/** Turns numbers, times and other values into texts for the visitor's locale. */

import { create } from "./dom.js";

const NUMBERS = new Intl.NumberFormat();
const DECIMALS = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const DAYS = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MINUTES = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];
const RECENT_SECONDS = 7 * 86400;
const NAME_LENGTH = 100;

/** Returns a number with its digits in groups. */
export function formatNumber(value) {
  return NUMBERS.format(value);
}

/** Returns a number with two decimals. */
export function formatDecimal(value) {
  return DECIMALS.format(value);
}

/** Returns a number with its noun, such as "1 document" or "12 documents". */
export function formatCount(value, noun, plural = `${noun}s`) {
  return `${formatNumber(value)} ${value === 1 ? noun : plural}`;
}

/** Returns a number of bytes, such as "1.4 MB". */
export function formatBytes(bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const options = { style: "unit", unit: units[power], unitDisplay: "short", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(undefined, options).format(bytes / 1000 ** power);
}

/** Returns a number of milliseconds, such as "12 ms" or "1.2 s". */
export function formatMilliseconds(value) {
  return value < 1000
    ? `${NUMBERS.format(Math.round(value))} ms`
    : `${NUMBERS.format(Math.round(value / 100) / 10)} s`;
}

/** Returns a share as a percentage, with at most `digits` digits after the point. */
export function formatPercent(share, digits = 1) {
  return new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: digits }).format(share);
}

/** Returns the day of a timestamp. */
export function formatDay(timestamp) {
  return DAYS.format(new Date(timestamp));
}

/** Returns the day and the minute of a timestamp. */
export function formatTime(timestamp) {
  return MINUTES.format(new Date(timestamp));
}

/** Creates a `time` element, near times relative to now; the exact time is in its title. */
export function createTime(timestamp, format = formatRelative) {
  if (!timestamp) {
    return create("span", { class: "muted" }, "never");
  }
  const date = new Date(timestamp);
  return create("time", { datetime: date.toISOString(), title: EXACT.format(date) }, format(date));
}

/** Returns the text without the underscores of a code, such as "Pending filter". */
export function formatCode(code) {
  const words = String(code).replaceAll(/[_-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns what a person calls a document: its title, or else the beginning of its text. */
export function nameDocument(item) {
  return findName(item) || beginningOf(item.content ?? "") || "Document without a title";
}

/** Tells whether a document has no name but the beginning of its text. Such documents are short. */
export function isNameless(item) {
  return !findName(item);
}

function findName({ title, summary, customId, url }) {
  return title || summary || customId || url;
}

function beginningOf(text) {
  const line = text.trim().split("\n", 1)[0];
  return line.length > NAME_LENGTH ? `${line.slice(0, NAME_LENGTH)}…` : line;
}

function formatRelative(date) {
  const seconds = (date - Date.now()) / 1000;
  if (Math.abs(seconds) > RECENT_SECONDS) {
    return DAYS.format(date);
  }
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return RELATIVE.format(Math.round(seconds / length), unit);
}
