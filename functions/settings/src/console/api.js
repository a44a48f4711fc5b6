/**
 * Talks to the API. A person signs in with a key once. Then a cookie that no script can read stands
 * for it. On the machine of the server, the key `local` needs no sign-in.
 */

import { forgetRequests } from "./request-history.js";

/** The address of the server, without a slash at the end. */
export const serverAddress = new URL("..", import.meta.url).href.replace(/\/$/, "");

const SIGNED_IN = "recollect-signed-in";
const SIGNED_OUT = "recollect-signed-out";
const LOCAL_KEY = "local";
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const SESSION_PATH = "/console/session";
const REQUESTS_AT_ONCE = 4;
/** A file of this size fits into a request to every server. */
const SURE_UPLOAD_BYTES = 4 * 1024 * 1024;

const ADVICE = {
  401: "Sign in with a key that works.",
  403: "Use a key with more permissions.",
  404: "It may have been deleted. Go back to the list and load it again.",
  409: "Something else has changed it meanwhile. Load the page again, then repeat the change.",
  413: "Send less at once.",
  415: "Choose a file of another type.",
  429: "Wait a minute, then try again.",
  503: "The server is busy. Wait a moment, then try again.",
};
const ADVICE_REQUEST = "Correct the request, then send it again.";
const ADVICE_SERVER = "Try again. If it stays, look in the server's log for the id of the request.";
const ADVICE_NETWORK = "Check that the server runs and that you are connected, then try again.";

let usesLocalKey = false;
let signInCount = 0;
let askForKey = async () => {};
let pendingSignIn = null;

/** An error that the API has answered, or that no answer came. */
export class ApiError extends Error {
  constructor(status, body, message) {
    super(message ?? body?.error ?? "The server has answered with an error.");
    this.status = status;
    this.type = body?.type;
    this.requestId = body?.requestId;
    this.issues = body?.issues ?? [];
  }

  /** What a person can do about it. */
  get advice() {
    if (this.status === 0) {
      return ADVICE_NETWORK;
    }
    return ADVICE[this.status] ?? (this.status < 500 ? ADVICE_REQUEST : ADVICE_SERVER);
  }
}

/** Sets the function that asks a person for a key. It resolves when there is one that works. */
export function onSignInNeeded(ask) {
  askForKey = ask;
}

/**
 * Sends a request and returns the answer: JSON, or text if `accept` asks for text.
 *
 * After a 401, a person is asked for a key, and the request is sent again with it.
 */
export async function request(
  method,
  path,
  { body, query, signal, headers, accept = "application/json" } = {},
) {
  const send = () =>
    fetch(buildAddress(path, query), {
      method,
      signal,
      headers: authorize({
        accept,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });

  const answer = await sendWithSignIn(send);
  if (!answer.ok) {
    throw new ApiError(answer.status, await readJson(answer));
  }
  return accept === "application/json" ? readJson(answer) : answer.text();
}

/**
 * Sends a request as a person has written it, and returns the answer whatever its status is. `text` is the body, which
 * is JSON or empty.
 */
export async function sendWritten(method, path, { text, signal }) {
  let start = 0;
  const send = () => {
    start = performance.now();
    const headers = authorize({
      accept: "application/json, text/plain, */*",
      ...(text && { "content-type": "application/json" }),
    });
    return fetch(buildAddress(path), { method, signal, headers, body: text || undefined });
  };
  const answer = await sendWithSignIn(send);
  const received = await answer.blob().catch(throwNetworkError);
  return {
    status: answer.status,
    reason: answer.statusText,
    type: answer.headers.get("content-type") ?? "",
    bytes: received.size,
    milliseconds: performance.now() - start,
    text: await received.text(),
  };
}

/**
 * Adds a file as a document with these fields, and tells `onProgress` the share that is sent, from 0 to 1. A file that
 * is too large for a request, as on AWS, is stored by a form of the object store. `key` makes the upload repeatable.
 */
export async function uploadFile(file, fields, { key, onProgress }) {
  const address = buildAddress("/v3/documents/file");
  const form = createForm(fields, file);
  const send = () => sendForm(address, form, onProgress, authorize({ "idempotency-key": key }));
  try {
    return readUploadAnswer(await sendWithSignIn(send));
  } catch (error) {
    if (!isTooLarge(error, file)) {
      throw error;
    }
    return storeFile(file, fields, { key: `${key}-stored`, onProgress });
  }
}

/** Some servers close the connection before they have read a file that is too large for them. */
function isTooLarge({ status }, { size }) {
  return status === 413 || (status === 0 && size > SURE_UPLOAD_BYTES);
}

async function storeFile(file, fields, { key, onProgress }) {
  const body = { ...fields, fileName: file.name, ...(file.type && { mimeType: file.type }) };
  const headers = { "idempotency-key": key };
  const begun = await request("POST", "/v3/documents/file/uploads", { body, headers });
  const form = createForm(begun.upload.fields, file);
  readUploadAnswer(await sendForm(begun.upload.url, form, onProgress).catch(throwNetworkError));
  return begun;
}

function createForm(fields, file) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, value);
  }
  form.append("file", file, file.name);
  return form;
}

function readUploadAnswer({ status, body }) {
  if (status >= 400) {
    throw new ApiError(status, body);
  }
  return body;
}

/** Signs in with a key and returns its session. Throws an `ApiError` if the key does not work. */
export async function openSession(key) {
  usesLocalKey = false;
  await callSession("POST", SESSION_PATH, { authorization: `Bearer ${key}` });
  localStorage.setItem(SIGNED_IN, "yes");
  sessionStorage.removeItem(SIGNED_OUT);
  signInCount += 1;
  return showSession();
}

/** Ends the session. The key `local` is not tried in this tab until a person has signed in. */
export async function closeSession() {
  forgetRequests();
  sessionStorage.setItem(SIGNED_OUT, "yes");
  if (localStorage.getItem(SIGNED_IN)) {
    await callSession("DELETE", SESSION_PATH);
    localStorage.removeItem(SIGNED_IN);
  }
}

/** Tells whether the page comes from this machine, on which the key `local` may work. */
export function isOnThisMachine() {
  return LOOPBACK_NAMES.includes(location.hostname);
}

/** Uses the key `local` and returns its session. Throws an `ApiError` if the server does not accept it. */
export async function openLocalSession() {
  usesLocalKey = true;
  try {
    const session = await showSession();
    sessionStorage.removeItem(SIGNED_OUT);
    signInCount += 1;
    return session;
  } catch (error) {
    usesLocalKey = false;
    throw error;
  }
}

/** Returns the session of the cookie or, on this machine, of the key `local`; null without one. */
export async function resumeSession() {
  if (localStorage.getItem(SIGNED_IN)) {
    const session = await showSession().catch(ignoreRefusal);
    if (session) {
      return session;
    }
    localStorage.removeItem(SIGNED_IN);
  }

  return isOnThisMachine() && !sessionStorage.getItem(SIGNED_OUT)
    ? openLocalSession().catch(ignoreRefusal)
    : null;
}

/** Returns all pages of a list, as far as `limit` items, with `onPage` called after each one. */
export async function requestPages(fetchPage, { limit = 20000, onPage = () => {} } = {}) {
  const items = [];
  for (let page = 1; ; page += 1) {
    const { entries, pagination } = await fetchPage(page);
    items.push(...entries);
    onPage(items, pagination);
    if (page >= pagination.totalPages || items.length >= limit) {
      return items;
    }
  }
}

/**
 * Sends requests for parts of a list with at most `size` items each, a few at a time. Once `signal` is aborted, no
 * further request is sent, and those that are under way end. Returns the items that were sent, and those that failed
 * with their errors. `onProgress` gets the share that is done, from 0 to 1.
 */
export async function sendInParts(items, size, send, { signal, onProgress }) {
  const sent = [];
  const failed = [];
  let next = 0;
  const sendParts = async () => {
    while (next < items.length && !signal.aborted) {
      const part = items.slice(next, next + size);
      next += size;
      try {
        await send(part);
        sent.push(...part);
      } catch (error) {
        failed.push(...part.map((item) => ({ item, error })));
      }
      onProgress((sent.length + failed.length) / items.length);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, sendParts));
  return { sent, failed };
}

/** Returns a key with which a request can be repeated without adding a document twice. */
export function createIdempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function showSession() {
  return callSession("GET", "/v3/session");
}

async function callSession(method, path, headers = {}) {
  const address = buildAddress(path);
  const answer = await fetch(address, { method, headers: authorize(headers) }).catch(throwNetworkError);
  if (!answer.ok) {
    throw new ApiError(answer.status, await readJson(answer));
  }
  return readJson(answer);
}

function ignoreRefusal(error) {
  if (error.status !== 401) {
    throw error;
  }
  return null;
}

/** Adds the key `local`, or the header without which the server ignores the cookie. */
function authorize(headers) {
  return usesLocalKey
    ? { ...headers, authorization: `Bearer ${LOCAL_KEY}` }
    : { ...headers, "x-recollect-console": location.protocol.replace(":", "") };
}

async function sendWithSignIn(send) {
  for (;;) {
    const countBefore = signInCount;
    const answer = await send().catch(throwNetworkError);
    if (answer.status !== 401) {
      return answer;
    }
    if (signInCount === countBefore) {
      pendingSignIn ??= askForKey().finally(() => {
        pendingSignIn = null;
      });
      await pendingSignIn;
    }
  }
}

function sendForm(address, form, onProgress, headers = {}) {
  return new Promise((resolve, reject) => {
    const transfer = new XMLHttpRequest();
    transfer.open("POST", address);
    transfer.responseType = "json";
    for (const [name, value] of Object.entries(headers)) {
      transfer.setRequestHeader(name, value);
    }
    transfer.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    transfer.addEventListener("load", () => resolve({ status: transfer.status, body: transfer.response }));
    transfer.addEventListener("error", () => reject(new TypeError("The connection failed.")));
    transfer.send(form);
  });
}

function throwNetworkError(error) {
  if (error.name === "AbortError") {
    throw error;
  }
  throw new ApiError(0, null, "The server does not answer.");
}

function buildAddress(path, query = {}) {
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  const address = `${serverAddress}${path}`;
  return pairs.length ? `${address}?${new URLSearchParams(pairs)}` : address;
}

async function readJson(answer) {
  const text = await answer.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return { error: `The server has answered with status ${answer.status} and without JSON.` };
  }
}
