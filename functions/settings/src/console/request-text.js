/** Writes a request to the API as a program or a command, to copy. */

import { serverAddress } from "./api.js";

const KEY = "YOUR_KEY";

/** Returns the request in each language, with a label. */
export function createRequestTexts(path, body) {
  const url = `${serverAddress}${path}`;
  return [
    { label: "curl", text: writeCurl(url, body) },
    { label: "Python", text: writePython(url, body) },
    { label: "TypeScript", text: writeTypeScript(url, body) },
  ];
}

function writeCurl(url, body) {
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl ${url} \\
  -H 'Authorization: Bearer ${KEY}' \\
  -H 'Content-Type: application/json' \\
  -d '${quoted}'`;
}

function writePython(url, body) {
  return `import requests

answer = requests.post(
    "${url}",
    headers={"Authorization": "Bearer ${KEY}"},
    json=${indent(writePythonValue(body), 4)},
)
answer.raise_for_status()
for result in answer.json()["results"]:
    print(result["similarity"], result.get("memory") or result.get("chunk"))`;
}

function writeTypeScript(url, body) {
  return `const answer = await fetch("${url}", {
  method: "POST",
  headers: {
    "Authorization": "Bearer ${KEY}",
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${indent(JSON.stringify(body, null, 2), 2)}),
});
if (!answer.ok) {
  throw new Error(await answer.text());
}
const { results } = await answer.json();`;
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
