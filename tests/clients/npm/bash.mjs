/** Runs the unmodified npm package `@supermemory/bash` against a running Recollect. */

import assert from "node:assert/strict";
import { createBash, TOOL_DESCRIPTION } from "@supermemory/bash";
import { newTag, runSteps, Stored } from "./common.mjs";

const POEM = "The lighthouse keeper oils the brass lamp of Skerry Point on every second Tuesday.";

/** Opens a shell over a container, and returns it with a way to run commands in it. */
async function openShell({ url, key }, tag, options = {}) {
  const made = await createBash({ apiKey: key, baseURL: url, containerTag: tag, ...options });
  const output = async (command) => {
    const { stdout, stderr, exitCode } = await made.bash.exec(command);
    assert.equal(exitCode, 0, `${command}: ${stdout}${stderr}`);
    return stdout;
  };
  const prints = async (expected, command) => assert.equal(await output(command), expected, command);
  return { ...made, output, prints };
}

/** Files are written, read, appended to and changed, byte for byte. */
async function checkFiles(server) {
  const tag = newTag("bash-files");
  const { prints } = await openShell(server, tag);
  await prints("", `echo '${POEM}' > /notes/lamp.md`);
  await prints("", "echo two >> /notes/lamp.md");
  await prints(`${POEM}\ntwo\n`, "cat /notes/lamp.md");
  await prints("", "printf 'b 2\\na 1\\na 1' > /notes/list.txt");
  await prints("one\n", "echo one | tee /notes/tee.txt");
  await prints("", "sed -i s/brass/silver/ /notes/lamp.md");
  await prints("", "cp /notes/list.txt /notes/copy.txt");
  await prints("", "mv /notes/tee.txt /notes/moved.txt");
  const expected = {
    "/notes/copy.txt": "b 2\na 1\na 1",
    "/notes/lamp.md": `${POEM.replace("brass", "silver")}\ntwo\n`,
    "/notes/list.txt": "b 2\na 1\na 1",
    "/notes/moved.txt": "one\n",
  };
  const documents = await new Stored(server).documents(tag, 4);
  const stored = Object.fromEntries(documents.map((one) => [one.filepath, one.content]));
  assert.deepEqual(stored, expected);
  for (const options of [{}, { eagerContent: false }, { eagerLoad: false, cacheTtlMs: 0 }]) {
    const other = await openShell(server, tag, options);
    for (const [path, text] of Object.entries(expected)) await other.prints(text, `cat ${path}`);
  }
}

/** The commands that the description names, on a file. */
async function checkText(server) {
  const tag = newTag("bash-text");
  const { prints } = await openShell(server, tag, { env: { NAME: "Ada" } });
  await prints("", "printf 'b 2\\na 1\\na 1\\n' > /list.txt");
  for (const [expected, command] of [
    ["Hello Ada\n", 'echo "Hello $NAME"'],
    ["b 2\n", "head -n 1 /list.txt"],
    ["a 1\n", "tail -n 1 /list.txt"],
    ["a 1\nb 2\n", "sort -u /list.txt"],
    ["2:a 1\n3:a 1\n", "grep -n a /list.txt"],
    ["2\n1\n1\n", "awk '{print $2}' /list.txt"],
    ["b\na\na\n", "cut -d ' ' -f 1 < /list.txt"],
    ["3\n", "wc -l < /list.txt | tr -d ' '"],
    ["0\n1\n", "for n in 0 1; do echo $n; done"],
    ["yes\n", "[ -f /list.txt ] && echo yes"],
  ]) {
    await prints(expected, command);
  }
}

/** Folders are made, listed, moved and removed, and another session sees it. */
async function checkFolders(server) {
  const tag = newTag("bash-folders");
  const { bash, prints } = await openShell(server, tag);
  await prints("", "mkdir -p /desk/plans && echo lamp > /desk/plans/lamp.md && echo tea > /desk/tea.md");
  await prints("plans\ntea.md\n", "ls /desk");
  await prints("/desk/tea.md:tea\n", "grep -r tea /desk");
  await prints("", "mv /desk /done && cp -r /done /copy && rm /copy/tea.md");
  const paths = async (count) => {
    const documents = await new Stored(server).documents(tag, count);
    return documents.map((one) => one.filepath).sort();
  };
  assert.deepEqual(await paths(3), ["/copy/plans/lamp.md", "/done/plans/lamp.md", "/done/tea.md"]);
  const refused = await bash.exec("rmdir /done");
  assert.notEqual(refused.exitCode, 0);
  await prints("", "rm -r /copy");
  assert.deepEqual(await paths(2), ["/done/plans/lamp.md", "/done/tea.md"]);
  const other = await openShell(server, tag);
  assert.match(await other.output("ls /"), /done\n/);
  await other.prints("lamp\n", "cat /done/plans/lamp.md");
}

/** `sgrep` finds by meaning, and `/profile.md` shows the memories. */
async function checkSearch(server) {
  const tag = newTag("bash-search");
  const shell = await openShell(server, tag);
  assert.equal(shell.toolDescription, TOOL_DESCRIPTION);
  await shell.prints("", `echo '${POEM}' > /notes/lamp.md`);
  await shell.prints("", "echo 'My sister Clara lives in Porto.' > /people/clara.md");
  await new Stored(server).documents(tag, 2);
  const query = "'When is the lamp of the lighthouse oiled?'";
  for (const path of ["", "/notes/", "/notes/lamp.md"]) {
    const found = await shell.output(`sgrep ${query} ${path}`);
    assert.ok(found.startsWith("/notes/lamp.md:") && found.includes(POEM), found);
    assert.ok(path === "" || !found.includes("/people/"), found);
  }
  const other = await openShell(server, tag);
  assert.match(await other.output("cat /profile.md"), /Clara lives in Porto/);

  await shell.configureMemoryPaths(["/diary/"]);
  await shell.prints("", "echo 'I live in Lisbon.' > /diary/me.md");
  await shell.prints("", "echo 'I have a dog named Bruno.' > /drafts/dog.md");
  await new Stored(server).documents(tag, 4);
  const memories = (await new Stored(server).memories(tag)).join();
  assert.ok(memories.includes("Lisbon") && !memories.includes("Bruno"), memories);
}

await runSteps(checkFiles, checkText, checkFolders, checkSearch);
