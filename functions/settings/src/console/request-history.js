/** The requests that a person has sent last in this tab. Keys are not part of them. */

const STORED = "recollect-requests";
const MOST_REQUESTS = 20;

/** The longest body of a request that is kept, in characters. */
const LONGEST_BODY = 50_000;

/** Returns the requests, the last one first. */
export function listRequests() {
  try {
    return JSON.parse(sessionStorage.getItem(STORED)) ?? [];
  } catch {
    return [];
  }
}

/** Keeps a request. An equal one moves to the front. */
export function keepRequest(entry) {
  if (entry.body.length > LONGEST_BODY) {
    return;
  }
  const others = listRequests().filter(
    ({ method, path, body }) => method !== entry.method || path !== entry.path || body !== entry.body,
  );
  sessionStorage.setItem(STORED, JSON.stringify([entry, ...others].slice(0, MOST_REQUESTS)));
}

/** Forgets all requests. */
export function forgetRequests() {
  sessionStorage.removeItem(STORED);
}
