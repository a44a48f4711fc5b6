/** Usage, latency and errors over time, and the log of requests. */

import { request, serverAddress } from "../api.js";
import { createChart } from "../components/chart.js";
import { openDialog } from "../components/dialog.js";
import { moveByArrows } from "../components/keyboard.js";
import { load } from "../components/load.js";
import {
  createBadge,
  createButton,
  createCode,
  createEmpty,
  createField,
  createHead,
  createPages,
  createPairs,
  createSection,
  createSelect,
  createTable,
} from "../components/parts.js";
import { create, debounce, replace } from "../dom.js";
import {
  createTime,
  formatCode,
  formatMilliseconds,
  formatNumber,
  formatPercent,
  formatTime,
} from "../format.js";
import { rememberQuery } from "../router.js";

const HOUR = 3600000;
const DAY = 24 * HOUR;
const PERIODS = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];
const LENGTHS = { "1h": HOUR, "24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY };
const TYPES = ["add", "search", "update", "delete", "request"];
const LOGS_ON_PAGE = 25;
const HOURS = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAYS = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** Shows the analytics. */
export function showAnalytics(page, { query, signal }) {
  const figures = create("div", { class: "stack" });
  const choice = {
    period: PERIODS.some(([period]) => period === query.period) ? query.period : "24h",
    type: "",
    status: "",
    key: "",
    page: 1,
  };
  const log = createLog(choice, signal);
  const show = () => {
    load(
      figures,
      { label: "figures", signal },
      () => fetchFigures(choice.period, signal),
      (answers) => createFigures(choice.period, answers),
    );
    log.show();
  };
  const changePeriod = (period) => {
    Object.assign(choice, { period, page: 1 });
    rememberQuery(["analytics"], { period });
    show();
  };

  replace(
    page,
    createHead("Analytics", {
      text: "How much the service is used, how fast it answers, and what goes wrong.",
    }),
    create(
      "div",
      { class: "fields" },
      createField("Period", createSelect(PERIODS, choice.period, changePeriod)),
    ),
    figures,
    log.element,
  );
  show();
}

async function fetchFigures(period, signal) {
  const [usage, errors, content] = await Promise.all([
    request("GET", "/v3/analytics/usage", { query: { period, limit: 100 }, signal }),
    request("GET", "/v3/analytics/errors", { query: { period, limit: 100 }, signal }),
    request("GET", "/v3/analytics/memory", { query: { period }, signal }),
  ]);
  return { usage, errors, content };
}

function createFigures(period, { usage, errors, content }) {
  const total = usage.hourly.reduce((sum, hour) => sum + hour.count, 0);
  const spent = usage.hourly.reduce((sum, hour) => sum + hour.count * hour.avgDuration, 0);
  const slots = createSlots(period);
  return [
    create(
      "dl",
      { class: "figures" },
      createFigure("Requests", formatNumber(total)),
      createFigure("Mean duration", total ? formatMilliseconds(spent / total) : "–"),
      createFigure("Errors", `${formatNumber(errors.totalErrors)} (${formatPercent(errors.errorRate)})`),
      createFigure("Documents", formatNumber(content.totalMemories), content.memoriesGrowth),
      createFigure("Memories", formatNumber(content.totalMemoryEntries), content.memoryEntriesGrowth),
      createFigure("Searches", formatNumber(content.searchQueries), content.searchGrowth),
    ),
    create(
      "div",
      { class: "charts" },
      createChart({
        title: "Requests",
        kind: "bars",
        points: sumPoints(slots, usage.hourly, "hour"),
        formatValue: formatNumber,
        formatMoment: slots.format,
      }),
      createChart({
        title: "Mean duration",
        kind: "line",
        points: averagePoints(slots, usage.hourly),
        formatValue: formatMilliseconds,
        formatMoment: slots.format,
      }),
      createChart({
        title: "Errors",
        kind: "bars",
        points: sumPoints(slots, errors.timeline, "time"),
        formatValue: formatNumber,
        formatMoment: slots.format,
      }),
    ),
    usage.usage.length > 0 &&
      createSection(
        "By type",
        createTable(
          "Requests by type",
          ["Type", "Requests", "Mean duration", "Last used"],
          usage.usage.map((row) => [
            formatCode(row.type),
            formatNumber(row.count),
            formatMilliseconds(row.avgDuration),
            createTime(row.lastUsed),
          ]),
        ),
      ),
    usage.byKey.length > 0 &&
      createSection(
        "By key",
        createTable(
          "Requests by key",
          ["Key", "Requests", "Mean duration", "Last used"],
          usage.byKey.map((row) => [
            create("span", { class: "wrap", dir: "auto" }, row.keyName),
            formatNumber(row.count),
            formatMilliseconds(row.avgDuration),
            createTime(row.lastUsed),
          ]),
        ),
      ),
    errors.topErrors.length > 0 &&
      createSection(
        "Errors by kind",
        createTable(
          "Errors by kind",
          ["Kind", "Requests", "Status", "Last"],
          errors.topErrors.map((row) => [
            row.type,
            formatNumber(row.count),
            row.statusCodes.join(", "),
            createTime(row.lastOccurred),
          ]),
        ),
      ),
  ];
}

function createFigure(name, value, growth) {
  return create(
    "div",
    {},
    create("dt", {}, name),
    create(
      "dd",
      {},
      value,
      growth
        ? create(
            "span",
            { class: "muted" },
            ` ${growth > 0 ? "+" : "−"}${formatPercent(Math.abs(growth) / 100)}`,
          )
        : null,
    ),
  );
}

/** Returns the beginnings of the hours or days of a period. */
function createSlots(period) {
  const length = LENGTHS[period] > 2 * DAY ? DAY : HOUR;
  const start = (time) => {
    const date = new Date(time);
    return length === DAY
      ? new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
      : Math.floor(date.getTime() / HOUR) * HOUR;
  };
  const now = Date.now();
  const times = new Set();
  for (let time = now - LENGTHS[period]; time <= now; time += HOUR) {
    times.add(start(time));
  }
  times.add(start(now));
  return {
    start,
    times: [...times],
    format: (time) => (length === DAY ? DAYS : HOURS).format(new Date(time)),
  };
}

function sumPoints({ start, times }, rows, field) {
  const sums = new Map(times.map((time) => [time, 0]));
  rows.forEach((row) => sums.set(start(row[field]), (sums.get(start(row[field])) ?? 0) + row.count));
  return times.map((time) => ({ time, value: sums.get(time) }));
}

function averagePoints(slots, hourly) {
  const counts = sumPoints(slots, hourly, "hour");
  const spent = sumPoints(
    slots,
    hourly.map((row) => ({ ...row, count: row.count * row.avgDuration })),
    "hour",
  );
  return counts.map(({ time, value }, index) => ({
    time,
    value: value > 0 ? spent[index].value / value : null,
  }));
}

function createLog(choice, signal) {
  const rows = create("div", {});
  const show = () =>
    load(
      rows,
      { label: "the request log", signal },
      () =>
        request("GET", "/v3/analytics/logs", {
          query: {
            period: choice.period,
            type: choice.type,
            statusCode: choice.status,
            keyId: choice.key,
            page: choice.page,
            limit: LOGS_ON_PAGE,
          },
          signal,
        }),
      (answer) =>
        createLogRows(answer, (number) => {
          choice.page = number;
          show();
        }),
    );
  const change = (name) => (value) => {
    Object.assign(choice, { [name]: value, page: 1 });
    show();
  };
  const types = [["", "Every type"], ...TYPES.map((type) => [type, formatCode(type)])];
  const status = create("input", {
    type: "number",
    min: 100,
    max: 599,
    on: { input: debounce(() => status.validity.valid && change("status")(status.value), 300) },
  });
  const key = create("input", {
    type: "search",
    data: { search: "" },
    on: { input: debounce(() => change("key")(key.value.trim()), 300) },
  });
  const filters = create(
    "div",
    { class: "fields" },
    createField("Type of request", createSelect(types, choice.type, change("type"))),
    createField("Status code", status),
    createField("Id of the key", key),
  );
  return { element: createSection("Request log", filters, rows), show };
}

function createLogRows({ logs, pagination }, goToPage) {
  if (logs.length === 0) {
    return createEmpty(
      "No request in this period matches. Choose a longer period, or send one.",
      `curl ${serverAddress}/v3/session -H 'Authorization: Bearer YOUR_KEY'`,
    );
  }
  const table = createTable(
    "Requests",
    ["Route", "Status", "Duration", "Key", "Time"],
    logs.map((entry) => [
      create(
        "button",
        { type: "button", class: "words link wrap", on: { click: () => openEntry(entry) } },
        entry.route,
      ),
      createBadge(String(entry.statusCode), entry.statusCode < 400 ? "good" : "bad"),
      formatMilliseconds(entry.duration),
      create("code", { class: "wrap" }, entry.keyId),
      createTime(entry.createdAt),
    ]),
  );
  moveByArrows(table, "tbody .words");
  return [table, createPages(pagination, goToPage)];
}

function openEntry(entry) {
  openDialog({
    title: "Request",
    isWide: true,
    content: (close) => [
      createPairs([
        ["Route", entry.route],
        ["Status", String(entry.statusCode)],
        ["Time", formatTime(entry.createdAt)],
        ["Duration", formatMilliseconds(entry.duration)],
        ["Type", formatCode(entry.type)],
        ["Key", entry.keyId],
        ["Id", create("code", {}, entry.id)],
      ]),
      createSection("Request body", createCode(JSON.stringify(entry.input, null, 2), "request")),
      createSection("Answer", createCode(JSON.stringify(entry.output, null, 2), "answer")),
      create("p", { class: "help" }, "The setting “Content of the request log” says what is kept of bodies."),
      create("div", { class: "actions" }, createButton("Close", close)),
    ],
  });
}
