/**
 * Runs the unmodified npm package `@supermemory/tools` against a running Recollect: the tools for
 * the AI SDK and for OpenAI, Claude's memory tool, and the memory that it adds to models and agents
 * of the AI SDK, OpenAI, Mastra and VoltAgent. A stub is the model, and what it was sent shows what
 * was put into the prompt.
 */

import assert from "node:assert/strict";
import * as aiSdk from "@supermemory/tools/ai-sdk";
import { createClaudeMemoryTool } from "@supermemory/tools/claude-memory";
import { createSupermemoryProcessors } from "@supermemory/tools/mastra";
import * as openAiTools from "@supermemory/tools/openai";
import { createSupermemoryHooks } from "@supermemory/tools/voltagent";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { newTag, runSteps, startModel, Stored, until } from "./common.mjs";

const FACT = "I prefer tea over coffee.";
const CONTEXT = '<supermemory context="user-memories" readonly>';
const MODES = ["profile", "query", "full"];
const QUESTION = "What does the user drink, tea or coffee?";

/** Runs the seven tools through `call(name, arguments)`, which returns the answer of a tool. */
async function runTools(server, tag, call) {
  const stored = new Stored(server);
  const added = await call("addMemory", { memory: FACT });
  const document = await call("documentAdd", { content: "Minutes of Monday.", title: "Monday" });
  assert.ok(added.success && document.success);
  const [note, minutes] = await stored.documents(tag, 2);
  assert.deepEqual([note.id, minutes.id], [added.memory.id, document.document.id]);
  assert.deepEqual(minutes.metadata, { title: "Monday" });

  const found = await call("searchMemories", { informationToGet: QUESTION, limit: 5 });
  const memory = found.results.find((one) => /tea/.test(one.memory));
  const profile = await call("getProfile", { query: QUESTION });
  const lines = [...profile.profile.static, ...profile.profile.dynamic];
  assert.equal(lines.filter((line) => /tea/.test(line)).length, 1);
  const listed = await call("documentList", { limit: 1, page: 2 });
  assert.deepEqual(listed.documents.map((one) => one.id), [note.id]);

  const forgotten = await call("memoryForget", { memoryId: memory.id, reason: "corrected" });
  const deleted = await call("documentDelete", { documentId: minutes.id });
  assert.ok(forgotten.success && deleted.success, JSON.stringify([forgotten, deleted]));
  assert.deepEqual((await stored.documents(tag, 1)).map((one) => one.id), [note.id]);
  assert.deepEqual(await stored.memories(tag), []);
  const unknown = await call("documentDelete", { documentId: "nobody" });
  assert.deepEqual([unknown.success, /not found/.test(unknown.error)], [false, true]);
}

async function checkAiSdkTools(server) {
  const tag = newTag("ai-tools");
  const config = { baseUrl: server.url, containerTags: [tag] };
  const tools = aiSdk.supermemoryTools(server.key, config);
  await runTools(server, tag, (name, args) => tools[name].execute(args, {}));
}

async function checkOpenAiTools(server) {
  const tag = newTag("openai-tools");
  const config = { baseUrl: server.url, containerTags: [tag] };
  const execute = openAiTools.createToolCallsExecutor(server.key, config);
  await runTools(server, tag, async (name, args) => {
    const call = { name, arguments: JSON.stringify(args) };
    const [answer] = await execute([{ id: "call-1", type: "function", function: call }]);
    return JSON.parse(answer.content);
  });
}

/** Two projects have files of the same name, which stay apart. */
async function checkClaudeMemory(server) {
  const projects = ["x", "y"].map((name) => newTag(`claude-${name}`));
  const tools = projects.map((tag) =>
    createClaudeMemoryTool(server.key, { baseUrl: server.url, containerTags: [tag] }),
  );
  const path = "/memories/notes.txt";
  const run = async (tool, command) => {
    const answer = await tool.handleCommand({ path, ...command });
    assert.ok(answer.success, answer.error);
    return answer.content;
  };
  for (const [index, tool] of tools.entries()) {
    await run(tool, { command: "create", file_text: `first of ${index}\nsecond` });
  }
  const [x, y] = tools;
  const reads = async (tool, lines) => {
    const numbered = lines.map((line, index) => `${String(index + 1).padStart(4)}\t${line}`);
    assert.equal(await run(tool, { command: "view" }), numbered.join("\n"));
  };
  await reads(x, ["first of 0", "second"]);
  await reads(y, ["first of 1", "second"]);

  await run(x, { command: "str_replace", old_str: "second", new_str: "2nd" });
  await run(x, { command: "insert", insert_line: 1, insert_text: "title" });
  await reads(x, ["title", "first of 0", "2nd"]);
  await new Stored(server).documents(projects[0], 1);
  await run(x, { command: "rename", new_path: "/memories/plans/new.txt" });
  assert.match(await run(x, { command: "view", path: "/memories/" }), /- plans\//);
  assert.match(await run(x, { command: "view", path: "/memories/plans/new.txt" }), /first of 0/);
  await reads(y, ["first of 1", "second"]);
  const gone = await x.handleCommandForToolResult({ command: "view", path }, "call-1");
  assert.deepEqual([gone.is_error, gone.content], [true, `Error: File not found: ${path}`]);

  await new Stored(server).documents(projects[1], 1);
  await run(y, { command: "delete" });
  assert.match(await run(y, { command: "view", path: "/memories/" }), /\(empty\)/);
}

/** A container with a memory for the prompt. */
async function tagWithFact(server, name) {
  const stored = new Stored(server);
  const tag = newTag(name);
  await stored.client.add({ content: FACT, containerTag: tag });
  await stored.documents(tag, 1);
  return tag;
}

/** Fails unless the prompt has the memory once, and the container has the conversation. */
async function assertRemembered(server, tag, prompt, words) {
  assert.equal(prompt.split(CONTEXT).length, 2, prompt);
  assert.equal(prompt.split("prefers tea").length, 2, prompt);
  await until(async () => {
    const documents = await new Stored(server).documents(tag, 2).catch(() => []);
    return documents.some((one) => one.content.includes(words) && one.content.includes("Noted."));
  }, `${words} in ${tag}`);
}

/** A language model of the AI SDK that answers "Noted." */
function languageModel(prompts) {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const end = { type: "finish", finishReason: "stop", usage };
  const parts = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Noted." },
    { type: "text-end", id: "1" },
    end,
  ];
  const keep = ({ prompt }) => prompts.push(prompt.map((one) => JSON.stringify(one)).join("\n"));
  return {
    specificationVersion: "v2",
    provider: "stub",
    modelId: "stub",
    supportedUrls: {},
    async doGenerate(options) {
      keep(options);
      return { content: [{ type: "text", text: "Noted." }], finishReason: "stop", usage, warnings: [] };
    },
    async doStream(options) {
      keep(options);
      return { stream: ReadableStream.from(parts) };
    },
  };
}

async function checkAiSdkModel(server) {
  for (const mode of MODES) {
    const tag = await tagWithFact(server, "ai-model");
    const prompts = [];
    const options = { containerTag: tag, customId: tag, apiKey: server.key, baseUrl: server.url };
    const model = aiSdk.withSupermemory(languageModel(prompts), { ...options, mode });
    const ask = (text) => ({ model, messages: [{ role: "user", content: text }] });
    const { text } = await generateText(ask(`${QUESTION} I ask in ${mode}.`));
    assert.equal(text, "Noted.");
    const prompt = prompts[0].replaceAll('\\"', '"');
    await assertRemembered(server, tag, prompt, `I ask in ${mode}.`);
    const stream = streamText(ask("My sister Clara lives in Porto."));
    assert.equal(await stream.text, "Noted.");
    await until(async () => {
      const memories = await new Stored(server).memories(tag);
      return memories.some((one) => /Porto/.test(one));
    }, "a memory of the streamed turn");
  }
}

async function checkOpenAiClient(server) {
  const model = await startModel();
  for (const mode of MODES) {
    const tag = await tagWithFact(server, "openai-model");
    const options = { containerTag: tag, customId: tag, apiKey: server.key, baseUrl: server.url };
    const client = new OpenAI({ apiKey: "none", baseURL: model.url });
    const openai = openAiTools.withSupermemory(client, { ...options, mode });
    const content = `${QUESTION} I ask in ${mode}.`;
    const messages = [{ role: "user", content }];
    const answer = await openai.chat.completions.create({ model: "m", messages });
    assert.equal(answer.choices[0].message.content, "Noted.");
    const { content: prompt } = model.requests.at(-1).messages[0];
    assert.equal(prompt.split("prefers tea").length, 2, prompt);
    await until(async () => {
      const documents = await new Stored(server).documents(tag, 2).catch(() => []);
      return documents.some((one) => one.content.includes(content));
    }, `${content} in ${tag}`);

    const response = await openai.responses.create({ model: "m", input: QUESTION });
    assert.equal(response.output[0].content[0].text, "Noted.");
    assert.match(model.requests.at(-1).instructions, /prefers tea/);
  }
}

/** Mastra runs a processor before and one after the model. Its list of messages is stood in for. */
async function checkMastra(server) {
  const tag = await tagWithFact(server, "mastra");
  const options = { containerTag: tag, customId: tag, apiKey: server.key, baseUrl: server.url };
  const { input, output } = createSupermemoryProcessors({ ...options, mode: "full" });
  const messages = [{ role: "user", content: { content: QUESTION, parts: [] } }];
  const added = [];
  const messageList = { clearSystemMessages() {}, addSystem: (text) => added.push(text) };
  await input.processInput({ messages, messageList });
  const answer = { role: "assistant", content: { parts: [{ type: "text", text: "Noted." }] } };
  await output.processOutputResult({ messages: [...messages, answer] });
  await assertRemembered(server, tag, added.join(), QUESTION);
}

async function checkVoltAgent(server) {
  const tag = await tagWithFact(server, "voltagent");
  const options = { customId: tag, apiKey: server.key, baseUrl: server.url, mode: "full" };
  const hooks = createSupermemoryHooks(tag, options);
  const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: QUESTION }] }];
  const agent = { name: "agent" };
  const prepared = await hooks.onPrepareMessages({ messages, rawMessages: messages, agent });
  await hooks.onEnd({ agent, context: { input: QUESTION }, output: { text: "Noted." } });
  await assertRemembered(server, tag, prepared.messages[0].content, QUESTION);
}

/** Without a service, the model is asked without memories. */
async function checkTrouble(server) {
  const prompts = [];
  const baseUrl = "http://127.0.0.1:9";
  const options = { containerTag: "t", customId: "t", apiKey: server.key, baseUrl };
  const model = aiSdk.withSupermemory(languageModel(prompts), options);
  assert.equal((await generateText({ model, prompt: "Hello." })).text, "Noted.");
  assert.ok(!prompts[0].includes(CONTEXT));
  const strict = aiSdk.withSupermemory(languageModel(prompts), { ...options, skipMemoryOnError: false });
  await assert.rejects(generateText({ model: strict, prompt: "Hello.", maxRetries: 0 }));
}

await runSteps(
  checkAiSdkTools,
  checkOpenAiTools,
  checkClaudeMemory,
  checkAiSdkModel,
  checkOpenAiClient,
  checkMastra,
  checkVoltAgent,
  checkTrouble,
);
