/** Runs every method of the unmodified npm package `supermemory` against a running Recollect. */

import assert from "node:assert/strict";
import Supermemory, { toFile } from "supermemory";
import { newTag, runSteps, Stored, until } from "./common.mjs";

const ORCHIDS = "The greenhouse of the botanical garden keeps its orchids at nineteen degrees.";
const QUESTION = "What temperature do the orchids in the greenhouse need?";
const RESOURCES = ["documents", "search", "memories", "connections", "settings"];
const called = new Set();

/** A client that notes the methods that are called. */
function clientOf({ url, key }) {
  const client = new Supermemory({ apiKey: key, baseURL: url, maxRetries: 0 });
  const noting = (object, prefix) =>
    new Proxy(object, {
      get(target, name) {
        called.add(prefix + String(name));
        return (...args) => target[name](...args);
      },
    });
  const noted = { add: noting(client, "").add, profile: noting(client, "").profile };
  for (const resource of RESOURCES) noted[resource] = noting(client[resource], `${resource}.`);
  return noted;
}

/** Waits until a document is processed, and returns it. */
function done(client, id) {
  return until(async () => {
    const document = await client.documents.get(id);
    assert.notEqual(document.status, "failed");
    return document.status === "done" && document;
  }, `${id} is done`);
}

async function checkDocuments(server) {
  const client = clientOf(server);
  const tag = newTag("npm");
  const added = await client.documents.add({
    content: ORCHIDS,
    containerTag: tag,
    customId: `${tag}-orchids`,
    metadata: { house: "glass", floor: 2, open: true, beds: ["a", "b"] },
    documentDate: "2026-03-04",
    entityContext: "Notes of a gardener.",
    filepath: "/garden/orchids.md",
    taskType: "memory",
    dreaming: "instant",
  });
  const document = await done(client, added.id);
  assert.equal(document.content, ORCHIDS);
  assert.equal(document.customId, `${tag}-orchids`);
  assert.deepEqual(document.metadata, { house: "glass", floor: 2, open: true, beds: ["a", "b"] });
  assert.equal((await client.documents.get(`${tag}-orchids`)).id, added.id);

  const inPlace = { metadata: { house: "stone" }, filepath: "/old/orchids.md" };
  const updated = await client.documents.update(`${tag}-orchids`, inPlace);
  assert.deepEqual(updated, { id: added.id, status: "done" });
  await client.documents.update(added.id, { content: "Orchids need light." });
  assert.equal((await done(client, added.id)).content, "Orchids need light.");
  const moved = await client.documents.update(added.id, {
    containerTag: `${tag}-moved`,
    customId: `${tag}-renamed`,
  });
  assert.equal(moved.id, added.id, "a document keeps its id");
  assert.deepEqual((await done(client, added.id)).containerTags, [`${tag}-moved`]);

  const well = await client.add({ content: "The well is dry.", containerTag: `${tag}-moved` });
  await done(client, well.id);
  const page = await client.documents.list({
    containerTags: [`${tag}-moved`],
    includeContent: true,
    limit: 1,
    page: 2,
    sort: "createdAt",
    order: "asc",
  });
  assert.deepEqual(page.memories.map((one) => [one.id, one.content]), [[well.id, "The well is dry."]]);
  assert.equal(page.pagination.totalItems, 2);

  await client.documents.delete(`${tag}-renamed`);
  for (const method of ["get", "delete"]) {
    await assert.rejects(client.documents[method](added.id), Supermemory.NotFoundError);
  }
}

async function checkManyDocuments(server) {
  const client = clientOf(server);
  const tag = newTag("npm-batch");
  const notes = [0, 1, 2].map((n) => ({ content: `Lock ${n} opens at dawn.`, customId: `${tag}-${n}` }));
  const added = await client.documents.batchAdd({
    documents: [...notes, { content: " " }],
    containerTag: tag,
    metadata: { kind: "note" },
  });
  assert.deepEqual([added.success, added.failed], [3, 1]);
  assert.ok(added.results[3].error);
  await new Stored(server).documents(tag, 3);
  const pending = await client.documents.listProcessing({ containerTags: [tag], view: "pending" });
  assert.deepEqual([pending.documents, pending.totalCount], [[], 0]);

  const ids = added.results.slice(0, 1).map((one) => one.id);
  const deleted = await client.documents.deleteBulk({ ids: [...ids, "nobody"] });
  assert.deepEqual([deleted.deletedCount, deleted.errors.map((one) => one.id)], [1, ["nobody"]]);
  assert.equal((await client.documents.deleteBulk({ containerTags: [tag] })).deletedCount, 2);
}

async function checkFiles(server) {
  const client = clientOf(server);
  const tag = newTag("npm-file");
  const bytes = Buffer.from("The harbour master keeps a green book.");
  const uploaded = await client.documents.uploadFile({
    file: await toFile(bytes, "harbour.txt", { type: "text/plain" }),
    containerTag: tag,
    customId: `${tag}-harbour`,
    metadata: JSON.stringify({ kind: "log" }),
    filepath: "/harbour.txt",
    taskType: "superrag",
  });
  const document = await done(client, uploaded.id);
  assert.deepEqual([document.title, document.metadata], ["harbour.txt", { kind: "log" }]);
  const found = await client.search.documents({ q: "green book", containerTag: tag });
  assert.deepEqual(found.results.map((one) => one.documentId), [uploaded.id]);
}

async function checkSearch(server) {
  const client = clientOf(server);
  const tag = newTag("npm-search");
  const content = `${ORCHIDS} I prefer tea over coffee.`;
  const note = await client.add({ content, containerTag: tag, metadata: { house: "glass" } });
  await done(client, note.id);
  const filters = { AND: [{ key: "house", value: "glass" }] };
  for (const method of ["documents", "execute"]) {
    const found = await client.search[method]({
      q: QUESTION,
      containerTags: [tag],
      filters,
      includeFullDocs: true,
      onlyMatchingChunks: false,
      rerank: true,
    });
    assert.deepEqual(found.results.map((one) => one.documentId), [note.id]);
    assert.match(found.results[0].chunks[0].content, /nineteen degrees/);
  }
  for (const searchMode of ["documents", "hybrid"]) {
    const include = { documents: true, chunks: true, relatedMemories: true };
    const query = { q: QUESTION, containerTag: tag, searchMode, filters, include };
    const found = await client.search.memories(query);
    assert.ok(found.results.some((one) => /nineteen degrees/.test(one.chunk)), searchMode);
  }
  const drinks = await client.search.memories({ q: "What does the user drink?", containerTag: tag });
  assert.match(drinks.results[0].memory, /tea/);
  const empty = client.search.memories({ q: "", containerTag: tag });
  await assert.rejects(empty, Supermemory.BadRequestError);
}

async function checkMemories(server) {
  const client = clientOf(server);
  const tag = newTag("npm-memories");
  for (const content of ["I live in Bonn.", "I moved from Bonn to Lisbon."]) {
    await done(client, (await client.add({ content, containerTag: tag })).id);
  }
  const profile = await client.profile({ containerTag: tag, q: "Where does the user live?" });
  const lines = [...profile.profile.static, ...profile.profile.dynamic];
  assert.equal(lines.filter((line) => /Lisbon/.test(line)).length, 1);
  const [home] = profile.searchResults.results;

  const newContent = "User lives in Lisbon, near the river.";
  const changed = await client.memories.updateMemory({ containerTag: tag, id: home.id, newContent });
  assert.deepEqual([changed.parentMemoryId, changed.version], [home.id, home.version + 1]);
  const forgotten = await client.memories.forget({ containerTag: tag, id: changed.id });
  assert.deepEqual([forgotten.id, forgotten.forgotten], [changed.id, true]);
  assert.deepEqual(await new Stored(server).memories(tag), []);
}

async function checkConnections(server) {
  const client = clientOf(server);
  const tag = newTag("npm-connections");
  const scope = { containerTags: [tag] };
  const metadata = { startUrl: "https://site.example/" };
  const site = await client.connections.create("web-crawler", { ...scope, documentLimit: 5, metadata });
  assert.equal((await client.connections.getByID(site.id)).documentLimit, 5);
  assert.equal((await client.connections.getByTag("web-crawler", scope)).id, site.id);
  assert.deepEqual((await client.connections.list(scope)).map((one) => one.id), [site.id]);
  assert.deepEqual(await client.connections.listDocuments("web-crawler", scope), []);
  assert.ok(await client.connections.import("web-crawler", scope));

  // What is read from a site is said when the connection is made.
  const isUnsupported = (error) => error.error.type === "UnsupportedError";
  const resources = [{ id: "a" }];
  await assert.rejects(client.connections.resources(site.id), isUnsupported);
  await assert.rejects(client.connections.configure(site.id, { resources }), isUnsupported);
  assert.equal((await client.connections.deleteByID(site.id)).id, site.id);
  await client.connections.create("web-crawler", { ...scope, metadata });
  assert.ok(await client.connections.deleteByProvider("web-crawler", scope));
  assert.deepEqual(await client.connections.list(scope), []);
}

async function checkSettings(server) {
  const client = clientOf(server);
  const rules = { shouldLLMFilter: true, excludeItems: ["drafts"] };
  const changes = { chunkSize: 800, googleDriveClientSecret: "secret-1", ...rules };
  await client.settings.update(changes);
  const settings = await client.settings.get();
  assert.deepEqual([settings.chunkSize, settings.excludeItems], [800, ["drafts"]]);
  assert.ok(!JSON.stringify(settings).includes("secret-1"), "a secret is not read back");
  await client.settings.update({ chunkSize: null, excludeItems: null, shouldLLMFilter: false });
}

async function checkEveryMethodWasCalled() {
  const client = new Supermemory({ apiKey: "x", baseURL: "http://127.0.0.1:1" });
  const offered = RESOURCES.flatMap((resource) => {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(client[resource]));
    return methods.filter((name) => name !== "constructor").map((name) => `${resource}.${name}`);
  });
  assert.deepEqual(offered.filter((method) => !called.has(method)), []);
}

await runSteps(
  checkDocuments,
  checkManyDocuments,
  checkFiles,
  checkSearch,
  checkMemories,
  checkConnections,
  checkSettings,
  checkEveryMethodWasCalled,
);
