/** Writes a request to the API as a program or a command, to copy. */

import { serverAddress } from "./api.js";

const KEY = "YOUR_KEY";

/** How programs read the answer to a request. */
const READ_ANSWER = {
  python: "print(answer.text)",
  typescript: "console.log(await answer.text());",
};

/** Returns the request in each language, with a label. `body` is undefined if there is none. */
export function createRequestTexts(method, path, body, reading = READ_ANSWER) {
  const written = { method, url: `${serverAddress}${path}`, body };
  return [
    { label: "curl", text: writeCurl(written) },
    { label: "Python", text: writePython(written, reading.python) },
    { label: "TypeScript", text: writeTypeScript(written, reading.typescript) },
  ];
}

function writeCurl({ method, url, body }) {
  const lines = [`curl ${quoteForShell(url)}`, `-H 'Authorization: Bearer ${KEY}'`];
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d ${quoteForShell(JSON.stringify(body))}`);
  }
  if (method !== (body === undefined ? "GET" : "POST")) {
    lines.push(`-X ${method}`);
  }
  return lines.join(" \\\n  ");
}

function writePython({ method, url, body }, reading) {
  const json = body === undefined ? "" : `\n    json=${indent(writePythonValue(body), 4)},`;
  return `import requests

answer = requests.${method.toLowerCase()}(
    ${JSON.stringify(url)},
    headers={"Authorization": "Bearer ${KEY}"},${json}
)
answer.raise_for_status()
${reading}`;
}

function writeTypeScript({ method, url, body }, reading) {
  const json =
    body === undefined ? "" : `\n  body: JSON.stringify(${indent(JSON.stringify(body, null, 2), 2)}),`;
  const type = body === undefined ? "" : `\n    "Content-Type": "application/json",`;
  return `const answer = await fetch(${JSON.stringify(url)}, {
  method: "${method}",
  headers: {
    "Authorization": "Bearer ${KEY}",${type}
  },${json}
});
if (!answer.ok) {
  throw new Error(await answer.text());
}
${reading}`;
}

function quoteForShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** JSON texts are also texts of Python; only the three literals differ. */
function writePythonValue(value, depth = 1) {
  const literals = new Map([
    [true, "True"],
    [false, "False"],
    [null, "None"],
  ]);
  if (literals.has(value)) {
    return literals.get(value);
  }
  if (typeof value !== "object") {
    return JSON.stringify(value);
  }
  const space = "    ".repeat(depth);
  const close = "    ".repeat(depth - 1);
  if (Array.isArray(value)) {
    return `[${value.map((item) => writePythonValue(item, depth)).join(", ")}]`;
  }
  const lines = Object.entries(value).map(
    ([key, item]) => `${space}${JSON.stringify(key)}: ${writePythonValue(item, depth + 1)},\n`,
  );
  return `{\n${lines.join("")}${close}}`;
}

function indent(text, width) {
  return text.replaceAll("\n", `\n${" ".repeat(width)}`);
}
