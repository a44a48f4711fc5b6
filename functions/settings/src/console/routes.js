/** The routes of the API, from its description, with examples of their bodies. */

import { request } from "./api.js";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** What is offered if the description cannot be read. */
const USUAL_ROUTES = [
  ["POST", "/v4/search", "Search in a container."],
  ["POST", "/v3/documents", "Add a document."],
  ["POST", "/v3/documents/list", "List documents."],
  ["GET", "/v3/documents/{id}", "Get a document."],
  ["POST", "/v4/memories/list", "List memories."],
  ["POST", "/v4/profile", "Get a profile."],
  ["GET", "/v3/container-tags/list", "List containers."],
].map(([method, path, summary]) => ({ method, path, summary, example: null }));

let known = null;

/** Returns the routes. The description is read once. */
export async function fetchRoutes(signal) {
  try {
    known ??= readRoutes(await request("GET", "/v4/openapi", { signal }));
    return known;
  } catch {
    return USUAL_ROUTES;
  }
}

function readRoutes(description) {
  return Object.entries(description.paths).flatMap(([path, operations]) =>
    METHODS.filter((method) => method.toLowerCase() in operations).map((method) => {
      const operation = operations[method.toLowerCase()];
      return { method, path, summary: operation.summary ?? "", example: findExample(description, operation) };
    }),
  );
}

function findExample(description, { requestBody }) {
  const body = description.components.requestBodies?.[requestBody?.$ref?.split("/").at(-1)] ?? requestBody;
  return body?.content?.["application/json"]?.example ?? null;
}
