// Drives the server with the unmodified TypeScript SDK of the Model Context Protocol, over HTTP and over standard
// streams.
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const text = { type: "string" };
const { values: options } = parseArgs({ options: { url: text, key: text, recollect: text, data: text } });

async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  return result.structuredContent;
}

async function useEverything(transport, container) {
  const client = new Client({ name: "gate", version: "1.0.0" });
  await client.connect(transport);
  assert.match(client.getInstructions(), /`search`/);
  // The client compiles the schemas of answers here, and holds each answer against its own.
  const { tools } = await client.listTools();
  assert.equal(tools.length, 8);

  const content = `I prefer green tea in the morning, says ${container}.`;
  const added = await call(client, "add", { content, container, wait: true });
  assert.equal(added.status, "done");
  const found = await call(client, "search", { query: "Which tea do I prefer?", container });
  const memory = found.results.find((result) => result.kind === "memory");
  assert.match(memory.text, /green tea/);

  for (const name of ["list_documents", "list_memories"]) await call(client, name, { container });
  for (const name of ["list_containers", "whoami"]) await call(client, name, {});
  await call(client, "get_document", { id: added.documentId });
  const prompt = await client.getPrompt({ name: "profile", arguments: { container } });
  assert.match(prompt.messages[0].content.text, /green tea/);
  const { resources } = await client.listResources();
  assert.ok(resources.some((resource) => resource.uri === "recollect://containers"));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 1);

  await call(client, "forget", { id: memory.id, container });
  const left = await call(client, "list_memories", { container });
  assert.ok(left.memories.every((one) => one.id !== memory.id));
  await client.close();
}

const url = new URL(`${options.url}/mcp`);
const headers = { Authorization: `Bearer ${options.key}` };
const env = { PATH: process.env.PATH, RECOLLECT_KEY: options.key };
const command = options.recollect;
const stdio = (args) => new StdioClientTransport({ command, args: ["mcp", ...args], env });

await useEverything(new StreamableHTTPClientTransport(url, { requestInit: { headers } }), "typescript-http");
await useEverything(stdio(["--data", options.data]), "typescript-process");
await useEverything(stdio(["--url", options.url]), "typescript-server");

const stranger = new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: "Bearer wrong" } } });
await assert.rejects(new Client({ name: "gate", version: "1.0.0" }).connect(stranger));
console.log("typescript: passed");
