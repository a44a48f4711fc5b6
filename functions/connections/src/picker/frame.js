// Messages between the picker in a frame and the page around it: docs/connections.md has the protocol. A message is
// addressed to an exact origin that the organization allows, and one from any other page is ignored.

const origins = document.body.dataset.origins.split(" ").filter(Boolean);
const above = window.location.ancestorOrigins;
// Without this list of the browser, every allowed origin is tried: only the page with that origin gets the message.
const targets = above && above.length > 0 ? origins.filter((origin) => origin === above[0]) : origins;
// The last message of each type that tells a state.
const told = new Map();

export const isFramed = window.parent !== window;

/** Tells the page around the frame that something has happened. */
export function tell(type, fields = {}) {
  if (!isFramed) return;
  for (const origin of targets) window.parent.postMessage({ source: "recollect-picker", type, ...fields }, origin);
}

/** Tells a state, unless it was the last one that was told. */
export function tellState(type, fields) {
  const text = JSON.stringify(fields);
  if (told.get(type) === text) return;
  told.set(type, text);
  tell(type, fields);
}

/** Tells that something failed, as far as the page around the frame has to know. */
export function tellFailure(error, reason) {
  tell("failed", { reason: error.over ? "session_ended" : reason, message: error.message });
}

/** Calls the function when the page around the frame asks to close the picker. */
export function onClose(close) {
  window.addEventListener("message", ({ source, origin, data }) => {
    if (isFramed && source === window.parent && origins.includes(origin) && data && data.type === "close") close();
  });
}

/** Tells the height of the content whenever it changes, so that the page around the frame can adapt the frame. */
export function followHeight() {
  if (!isFramed) return;
  document.body.classList.add("framed");
  const measure = () => tellState("resize", { height: Math.ceil(document.body.getBoundingClientRect().height) });
  new ResizeObserver(measure).observe(document.body);
  measure();
}
