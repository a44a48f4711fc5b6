// A chatbot that remembers its users. Usage: node chatbot.ts USER
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import Supermemory from "supermemory";

type Message = { role: "system" | "user" | "assistant"; content: string };

const RECOLLECT_URL = process.env.RECOLLECT_URL ?? "http://127.0.0.1:8787";
const SYSTEM_PROMPT = `You are a friendly assistant. This is what you know about the user from earlier conversations. \
Follow the user's instructions in it, and use the rest where it helps to answer.

`;

async function main() {
  const user = process.argv[2] ?? fail("usage: node chatbot.ts USER");
  const recollect = new Supermemory({ baseURL: RECOLLECT_URL, apiKey: process.env.RECOLLECT_KEY ?? "local" });
  const modelUrl = setting("OPENAI_BASE_URL");
  const model = setting("OPENAI_MODEL");

  const conversationId = randomUUID();
  const messages: Message[] = [];
  for await (const question of questions()) {
    messages.push({ role: "user", content: question });
    const memory = await remember(recollect, user, question);
    const answer = await askModel(modelUrl, model, [{ role: "system", content: SYSTEM_PROMPT + memory }, ...messages]);
    console.log(answer);
    messages.push({ role: "assistant", content: answer });
    await store(recollect, user, conversationId, messages);
  }
}

function setting(name: string): string {
  const example = "OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3:8b";
  return process.env[name] || fail(`Set ${name}. For a model in Ollama: ${example}`);
}

/** Yields what the user types, or the lines of a file or pipe. */
async function* questions() {
  const { stdin, stdout } = process;
  const prompt = () => stdin.isTTY && stdout.write("> ");
  prompt();
  for await (const line of createInterface({ input: stdin })) {
    if (line.trim()) yield line.trim();
    prompt();
  }
}

/** Returns the profile of the user and the memories that answer the question, as text for a prompt. */
async function remember(recollect: Supermemory, user: string, question: string) {
  const body = { containerTag: user, q: question };
  return recollect.post<string>("/v4/profile", { body, headers: { accept: "text/markdown" } });
}

async function store(recollect: Supermemory, user: string, conversationId: string, messages: Message[]) {
  // Always the whole conversation: Recollect keeps what is new in it. Memories form in the background.
  await recollect.post("/v4/conversations", { body: { containerTag: user, conversationId, messages } });
}

async function askModel(url: string, model: string, messages: Message[]): Promise<string> {
  const key = process.env.OPENAI_API_KEY;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (key) headers.authorization = `Bearer ${key}`; // a model on your machine needs none
  const request = { method: "POST", headers, body: JSON.stringify({ model, messages }) };
  const response = await fetch(`${url.replace(/\/$/, "")}/chat/completions`, request).catch((error) =>
    fail(`No answer from the model at ${url}: ${error.cause ?? error}`),
  );
  if (!response.ok) fail(`The model at ${url} answered ${response.status}: ${await response.text()}`);
  const completion = await response.json();
  return completion.choices[0].message.content;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

main().catch((error) => {
  if (error instanceof Supermemory.APIConnectionError) {
    fail(`No answer from Recollect at ${RECOLLECT_URL}. Start it, or set RECOLLECT_URL.`);
  }
  if (error instanceof Supermemory.APIError) fail(`Recollect at ${RECOLLECT_URL}: ${error.message}`);
  throw error;
});
