/** The icons of the console: paths on a field of 16 by 16, drawn with one stroke. */

import { createSvg } from "./dom.js";

const PATHS = {
  overview: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  document: "M4 1.5h5l3 3v10H4zM9 1.5v3h3M6 8h4M6 11h4",
  memory: "M3.5 13.5V7a4.5 4.5 0 0 1 9 0v6.5M6.5 13.5V7.2a1.5 1.5 0 0 1 3 0v6.3",
  graph:
    "M5.2 5.2l2 4M8.8 9.2l2.4-3M4.3 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM12 6a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 13.5a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.7 3.7",
  profile: "M8 7.5a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM2.5 14a5.5 5.5 0 0 1 11 0",
  connection:
    "M6.5 9.5l3-3M7 4.5L8.6 2.9a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.6 1.6a3.2 3.2 0 0 1-4.5-4.5L4.5 7",
  key: "M5.2 13.5a2.9 2.9 0 1 0 0-5.8 2.9 2.9 0 0 0 0 5.8zM7.3 8.6l6-6M11 5l2 2",
  analytics: "M2.5 2v11.5H14M5 10.5l3-4 2.2 2L13.5 4",
  request: "M5.5 4L1.5 8l4 4M10.5 4l4 4-4 4",
  settings:
    "M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M10 6.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM6 13.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z",
  container: "M2 5l6-3 6 3v6l-6 3-6-3zM2 5l6 3 6-3M8 8v6",
  add: "M8 3v10M3 8h10",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  menu: "M2 4h12M2 8h12M2 12h12",
  light:
    "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3",
  open: "M4.5 6.5L8 10l3.5-3.5",
  next: "M6 3l5 5-5 5",
  previous: "M10 3L5 8l5 5",
  warning: "M8 2L1.5 13.5h13zM8 6.5v3.5M8 11.8v.2",
  done: "M2.5 8.5l3.5 3.5 7.5-8",
};

/** Creates an icon. It has no name of its own, so it stands beside a text or in a labelled button. */
export function createIcon(name) {
  return createSvg(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
    createSvg("path", { d: PATHS[name] }),
  );
}
