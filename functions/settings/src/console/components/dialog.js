/** Modal dialogs. The browser keeps the focus inside, closes them with Escape and gives the focus back. */

import { create, uniqueId } from "../dom.js";
import { createIcon } from "../icons.js";
import { runAction } from "./load.js";

/**
 * Opens a dialog and returns it. `content` is called with a function that closes the dialog.
 */
export function openDialog({ title, content, isWide = false, onClose = () => {} }) {
  const id = uniqueId("dialog");
  const opener = document.activeElement;
  const dialog = create("dialog", { class: isWide ? "dialog wide" : "dialog", "aria-labelledby": id });
  const close = () => dialog.close();
  dialog.append(
    create(
      "header",
      { class: "dialog-head" },
      create("h2", { id }, title),
      create(
        "button",
        { type: "button", class: "button quiet", "aria-label": "Close", on: { click: close } },
        createIcon("close"),
      ),
    ),
    create("div", { class: "dialog-body" }, content(close)),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    opener?.focus?.();
    onClose();
  });
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("[autofocus]")?.focus();
  return dialog;
}

/**
 * Asks whether `action` is meant. The dialog stays open, with the error, if the action fails. After the action,
 * `afterwards` is called when the dialog has given the focus back.
 */
export function confirmAction({ title, text, label, action = () => {}, afterwards = () => {} }) {
  let isDone = false;
  openDialog({
    title,
    onClose: () => isDone && afterwards(),
    content: (close) => {
      const errors = create("div", {});
      const confirm = create("button", { type: "button", class: "button danger" }, label);
      confirm.addEventListener("click", async () => {
        if (await runAction(confirm, errors, action)) {
          isDone = true;
          close();
        }
      });
      const cancel = create(
        "button",
        { type: "button", class: "button", autofocus: true, on: { click: close } },
        "Cancel",
      );
      return [
        create("p", { class: "wrap" }, text),
        errors,
        create("div", { class: "actions" }, cancel, confirm),
      ];
    },
  });
}
