const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** Nothing that is sent here is nested deeper; what walks through values calls itself as often. */
const maxDepth = 100;

/**
 * What is wrong with a text that is JSON by its grammar but that parsers read differently: a member that stands twice (RFC 8259,
 * section 4: the behaviour of software that receives it is unpredictable), or more nesting than any reader can be
 * expected to follow (section 9). Undefined when nothing is.
 */
export function structureFault(json: string): string | undefined {
  /** The names so far of each object that is open; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) {
      const end = endOfText(json, at);
      const names = open.at(-1);
      if (names !== undefined && isName(json, end)) {
        const name = textAt(json, at, end);
        if (names.has(name)) return `the member ${JSON.stringify(name)} stands twice in one object`;
        names.add(name);
      }
      at = end;
    } else if (code === openBrace || code === openBracket) {
      if (open.push(code === openBrace ? new Set() : undefined) > maxDepth)
        return `it is nested deeper than ${maxDepth} levels`;
    } else if (code === closeBrace || code === closeBracket) open.pop();
  }
  return undefined;
}

/** Where the text that begins at `start` has its closing quote. */
function endOfText(json: string, start: number): number {
  let at = start + 1;
  for (let code = json.charCodeAt(at); code !== quote; code = json.charCodeAt(at))
    at += code === backslash ? 2 : 1;
  return at;
}

/** Whether the text that ends here is the name of a member: only a name is followed by a colon. */
function isName(json: string, end: number): boolean {
  let at = end + 1;
  // Space, tab, line feed and carriage return are JSON's only white space.
  while (json.charCodeAt(at) <= 0x20) at += 1;
  return json.charCodeAt(at) === colon;
}

function textAt(json: string, start: number, end: number): string {
  const raw = json.slice(start + 1, end);
  return raw.includes("\\") ? String(JSON.parse(`"${raw}"`)) : raw;
}
