/** Finds the place of an error in JSON. Browsers do not all tell it, and word it in different ways. */

const TOKEN =
  /[ \t\r\n]*(?:(?<string>"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?<scalar>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w))|(?<sign>[[\]{},:]))/y;
const SPACE = /[ \t\r\n]*/y;
const CLOSERS = { "[": "]", "{": "}" };

/** Returns the line and the column of the first error and what is wrong, or null if the text is JSON. */
export function findJsonError(text) {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return describeError(text, scan(text) ?? { position: text.length, message: error.message });
  }
}

/**
 * Reads token by token. `expected` is what may come next: a "value", a "name", a "colon", or what follows a value, the
 * "next". An array or an object that has just been opened may also be closed.
 */
function scan(text) {
  const open = [];
  let expected = "value";
  let isNew = false;
  let position = 0;
  for (;;) {
    TOKEN.lastIndex = position;
    const { string, scalar, sign } = TOKEN.exec(text)?.groups ?? {};
    const start = skipSpace(text, position);
    const token = string ?? scalar ?? sign;
    const closer = open.at(-1);
    position = start + (token?.length ?? 0);

    if (expected === "next" && open.length === 0 && start === text.length) {
      return null;
    } else if (sign && sign === closer && (isNew || expected === "next")) {
      open.pop();
      [expected, isNew] = ["next", false];
    } else if (expected === "value" && (string || scalar)) {
      [expected, isNew] = ["next", false];
    } else if (expected === "value" && sign in CLOSERS) {
      open.push(CLOSERS[sign]);
      [expected, isNew] = [sign === "[" ? "value" : "name", true];
    } else if (expected === "name" && string) {
      [expected, isNew] = ["colon", false];
    } else if (expected === "colon" && sign === ":") {
      expected = "value";
    } else if (expected === "next" && sign === "," && closer) {
      expected = closer === "]" ? "value" : "name";
    } else {
      return { position: start, message: describeExpected(text, start, { expected, isNew, closer }) };
    }
  }
}

function skipSpace(text, position) {
  SPACE.lastIndex = position;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

function describeExpected(text, start, { expected, isNew, closer }) {
  if (text[start] === '"' && (expected === "value" || expected === "name")) {
    return "a text has no closing quote, or a character in it must be escaped";
  }
  const wanted = {
    value: "a value",
    name: "a name in double quotes",
    colon: "a colon",
    next: closer ? `a comma or ${closer}` : "the end",
  }[expected];
  return isNew ? `${wanted} or ${closer} is expected` : `${wanted} is expected`;
}

function describeError(text, { position, message }) {
  const lines = text.slice(0, position).split("\n");
  return { line: lines.length, column: lines.at(-1).length + 1, message };
}
