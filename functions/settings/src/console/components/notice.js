/** Tells the person what has happened: on the page for a while, and to screen readers. */

import { create, replace } from "../dom.js";

const SHOWN_MILLISECONDS = 6000;
const region = create("div", { class: "notices", role: "status", "aria-live": "polite" });
let timer = 0;

/** Returns the region of the page in which notices appear. */
export function getNoticeRegion() {
  return region;
}

/** Shows a notice. With an action, a button beside it runs the action, for example to undo. */
export function notify(text, { label, action } = {}) {
  const close = () => replace(region);
  const button =
    action &&
    create(
      "button",
      {
        type: "button",
        class: "button small",
        on: {
          click: () => {
            close();
            action();
          },
        },
      },
      label,
    );
  clearTimeout(timer);
  replace(region, create("div", { class: "notice" }, create("span", {}, text), button));
  timer = setTimeout(close, SHOWN_MILLISECONDS);
}
