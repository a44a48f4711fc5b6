/** The status of documents, and the reasons for which they fail. */

import { formatCode } from "../format.js";
import { createBadge } from "./parts.js";

/** All states of a document, in their order. */
export const STATUSES = ["queued", "extracting", "chunking", "embedding", "indexing", "done", "failed"];

/** The types of documents. */
export const TYPES = [
  "text",
  "pdf",
  "webpage",
  "image",
  "audio",
  "video",
  "cloud_doc",
  "cloud_slide",
  "cloud_sheet",
];

const TONES = { done: "good", failed: "bad" };

const REASONS = {
  content_limit: "The content is larger than the limits allow. Split it, then add the parts.",
  encrypted: "The file is protected by a password. Remove the password, then add it again.",
  corrupt: "The file is damaged, or not of the type that it claims to be. Add a sound copy.",
  unsupported_type: "Files of this type are not supported. Convert it, then add it again.",
  empty: "The content has no text.",
  fetch_blocked: "The address is not on the public internet, so it is not fetched. Add the text itself.",
  fetch_failed: "The page could not be fetched. Check the address, then try again.",
  upload_missing: "The file never arrived. Add it again.",
  processing_failed: "Processing gave up after repeated faults. Try again.",
  damaged: "What was stored can no longer be read. Add the content again.",
};

/** Creates the badge of a status. */
export function createStatusBadge(status) {
  return createBadge(formatCode(status), TONES[status] ?? "busy");
}

/** Tells whether a document is still on its way. */
export function isInProgress(status) {
  return !(status in TONES);
}

/** Returns a sentence on why a document has failed, and what to do. */
export function explainFailure(item) {
  const reason = REASONS[item.errorCode] ?? "Processing has failed.";
  return item.errorMessage ? `${reason} (${item.errorMessage})` : reason;
}
