/** Shared by the scripts of this folder: arguments, steps, and a look at what is stored. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import Supermemory from "supermemory";

/** The longest wait for anything. */
const WAIT_MS = 20_000;

/** Runs steps, each with `{url, key}`, and ends with status 1 at the first that fails. */
export async function runSteps(...steps) {
  const { values } = parseArgs({ options: { url: { type: "string" }, key: { type: "string" } } });
  for (const step of steps) {
    try {
      await step(values);
    } catch (error) {
      console.error(error);
      console.error(`${step.name}: not as expected`);
      process.exit(1);
    }
    console.log(`${step.name}: as expected`);
  }
  process.exit(0);
}

/** A container tag that no other run uses. */
export function newTag(name) {
  return `${name}-${randomUUID().slice(0, 8)}`;
}

/** Calls `probe` until it returns something, and returns that. */
export async function until(probe, what) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const found = await probe();
    if (found) return found;
    assert(Date.now() < deadline, `${what}: not within ${WAIT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Looks at what Recollect has stored, past the package under test. */
export class Stored {
  constructor({ url, key }) {
    this.client = new Supermemory({ apiKey: key, baseURL: url, maxRetries: 0 });
  }

  /** Returns the documents of a container, the oldest first, when `count` of them are processed. */
  documents(tag, count) {
    return until(async () => {
      const query = { containerTags: [tag], includeContent: true, limit: 100, order: "asc" };
      const { memories } = await this.client.documents.list(query);
      const isDone = memories.every((one) => one.status === "done");
      return memories.length === count && isDone && memories;
    }, `${count} documents in ${tag}`);
  }

  /** Returns the memories of a container that are current. */
  async memories(tag) {
    const body = { containerTags: [tag], limit: 100 };
    const { memoryEntries } = await this.client.post("/v4/memories/list", { body });
    const current = memoryEntries.filter((one) => one.isLatest && !one.isForgotten);
    return current.map((one) => one.memory);
  }
}

/** Answers like OpenAI's chat completions and responses, on loopback, and keeps what it was sent. */
export async function startModel() {
  const requests = [];
  const server = createServer(async (request, response) => {
    const parts = await Array.fromAsync(request);
    requests.push(JSON.parse(Buffer.concat(parts).toString()));
    const isChat = request.url.endsWith("/chat/completions");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(isChat ? chatCompletion() : modelResponse()));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests };
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function chatCompletion() {
  const message = { role: "assistant", content: "Noted.", refusal: null };
  const choice = { index: 0, message, finish_reason: "stop", logprobs: null };
  return { id: "c", object: "chat.completion", created: 0, model: "m", choices: [choice], usage };
}

function modelResponse() {
  const text = { type: "output_text", text: "Noted.", annotations: [] };
  const message = { id: "m", type: "message", role: "assistant", status: "completed" };
  const output = [{ ...message, content: [text] }];
  return { id: "r", object: "response", created_at: 0, model: "m", status: "completed", output };
}
