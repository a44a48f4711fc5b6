/** The sign-in page. It lies over the present view, so that nothing typed there is lost. */

import { ApiError, closeSession, isOnThisMachine, openLocalSession, openSession } from "../api.js";
import { create, replace } from "../dom.js";
import { createErrorBox } from "./load.js";
import { createButton, createField } from "./parts.js";

/** Asks for a key until one works, and returns its session. */
export function signIn(reason) {
  return new Promise((resolve) => {
    const dialog = createSignIn(reason, (session) => {
      dialog.close();
      dialog.remove();
      resolve(session);
    });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Ends the session and asks for another key. */
export async function signOut() {
  await closeSession().finally(() => location.reload());
}

function createSignIn(reason, onSession) {
  const errors = create("div", {});
  const input = create("input", {
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    autofocus: true,
    name: "key",
  });
  const button = create("button", { class: "button primary" }, "Sign in");
  const form = create(
    "form",
    { class: "stack" },
    createField(
      "API key",
      input,
      "It begins with rk_. The browser does not keep it: you stay signed in for 12 hours.",
    ),
    errors,
    create("div", { class: "actions" }, button),
  );
  const open = async (openIt, explain) => {
    button.disabled = true;
    try {
      onSession(await openIt());
    } catch (error) {
      replace(errors, createErrorBox(error.status === 401 ? explain(error) : error));
      input.focus();
    } finally {
      button.disabled = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    open(() => openSession(input.value.trim()), explainWrongKey);
  });
  const local = createButton("Go on without a key", () => open(openLocalSession, explainNoLocalKey));
  return create(
    "dialog",
    { class: "sign-in", "aria-labelledby": "sign-in-title" },
    create(
      "div",
      { class: "stack" },
      create("p", { class: "brand" }, "Recollect"),
      create("h1", { id: "sign-in-title" }, "Sign in"),
      create("p", { class: "muted" }, reason),
      form,
      create(
        "p",
        { class: "help" },
        "An administrator makes a key with ",
        create("code", {}, "recollect keys create"),
        " or in the view Keys.",
      ),
      isOnThisMachine() && [
        create("hr"),
        create(
          "p",
          { class: "help" },
          "This page comes from your own machine, where Recollect may need no key.",
        ),
        create("div", { class: "actions" }, local),
      ],
    ),
  );
}

function explainWrongKey({ requestId }) {
  return new ApiError(401, { error: "This key does not work.", requestId });
}

function explainNoLocalKey({ requestId }) {
  return new ApiError(401, { error: "This server asks for a key, even on its own machine.", requestId });
}
