/** The text is JSON, but ambiguous or nested too deeply. */
export class JsonStructureError extends SyntaxError {
  override readonly name = "JsonStructureError";
}

/**
 * Parses what users define, over HTTP and over Kafka alike. Throws a JsonStructureError for a duplicate
 * member and for deep nesting, and a SyntaxError for text that is not JSON. A byte order mark is ignored (RFC
 * 8259, section 8.1).
 */
export function parseStrictJson(text: string): unknown {
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const written = countWrittenMembers(json);
  const value: unknown = JSON.parse(json);
  // JSON.parse keeps one of the members with the same name.
  if (countMembers(value) === written) return value;
  throw new JsonStructureError(`duplicate member ${JSON.stringify(findDuplicate(json))}`);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** Code that walks parsed values recurses as deep. */
const maxDepth = 100;

/** How many members the objects of a JSON text have. Throws a JsonStructureError for deep nesting. */
function countWrittenMembers(json: string): number {
  let [members, depth] = [0, 0];
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (code === quote) i = findStringEnd(json, i);
    else if (code === colon) members += 1;
    else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if ((code === openBrace || code === openBracket) && (depth += 1) > maxDepth)
      throw new JsonStructureError(`nested deeper than ${maxDepth} levels`);
  }
  return members;
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const members: unknown[] = Object.values(value);
  return members.reduce<number>(
    (sum, one) => sum + countMembers(one),
    Array.isArray(value) ? 0 : members.length,
  );
}

/** The first name that a JSON text repeats in an object. */
function findDuplicate(json: string): string | undefined {
  /** Member names of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (code === quote) {
      const end = findStringEnd(json, i);
      const names = open.at(-1);
      if (names !== undefined && isMemberName(json, end)) {
        const name = parseName(json.slice(i, end + 1));
        if (names.has(name)) return name;
        names.add(name);
      }
      i = end;
    } else if (code === openBrace || code === openBracket)
      open.push(code === openBrace ? new Set() : undefined);
    else if (code === closeBrace || code === closeBracket) open.pop();
  }
  return undefined;
}

/** Index of the closing quote of the string that starts at `start`, or the text's length. */
function findStringEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end - 1;
    while (json.charCodeAt(before) === backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return json.length;
}

/** Only the name of a member is followed by a colon. */
function isMemberName(json: string, end: number): boolean {
  let i = end + 1;
  // Space, tab, line feed and carriage return are JSON's only white space.
  while (json.charCodeAt(i) <= 0x20) i += 1;
  return json.charCodeAt(i) === colon;
}

/** Names may be spelt with escapes. An invalid escape throws, as in JSON.parse. */
const parseName = (quoted: string): string =>
  quoted.includes("\\") ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
