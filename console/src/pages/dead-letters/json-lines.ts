/** A line of JSON that is written a member a line. */
export interface JsonLine {
  readonly depth: number;
  readonly text: string;
  /** JSON Pointer of the value that begins on this line; undefined where none does. */
  readonly pointer: string | undefined;
}

/** An object or array that is not at its end. */
interface Open {
  readonly pointer: string;
  readonly isArray: boolean;
  items: number;
  /** Of the member whose value comes next. */
  member: string | undefined;
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/**
 * Writes JSON a member a line, each with the pointer to its value. Every number and every member stays as it was written: what is
 * shown is what was sent. Undefined where the text is no JSON.
 */
export function jsonLines(json: string): readonly JsonLine[] | undefined {
  if (!isJson(json)) return undefined;
  const lines: { depth: number; text: string; pointer: string | undefined }[] = [];
  const open: Open[] = [];

  const begin = (text: string, pointer: string | undefined): void =>
    void lines.push({ depth: open.length, text, pointer });
  const add = (text: string): void => {
    const line = lines.at(-1);
    if (line !== undefined) line.text += text;
  };

  /** Writes the beginning of a value, behind its name or on a line of its own, and gives its pointer. */
  function value(text: string): string {
    const within = open.at(-1);
    const member = within?.member;
    if (within === undefined || member === undefined) {
      const pointer = within === undefined ? "" : `${within.pointer}/${within.items}`;
      if (within !== undefined) within.items += 1;
      begin(text, pointer);
      return pointer;
    }
    within.member = undefined;
    add(text);
    return member;
  }

  let last = "";
  for (const [token] of json.matchAll(tokens)) {
    const within = open.at(-1);
    if (token === "{" || token === "[")
      open.push({ pointer: value(token), isArray: token === "[", items: 0, member: undefined });
    else if (token === "}" || token === "]") {
      open.pop();
      if (last === "{" || last === "[") add(token);
      else begin(token, undefined);
    } else if (token === ",") add(",");
    else if (token === ":") add(": ");
    else if (within === undefined || within.isArray || within.member !== undefined) value(token);
    else {
      within.member = `${within.pointer}/${escaped(JSON.parse(token) as string)}`;
      begin(token, within.member);
    }
    last = token;
  }
  return lines;
}

/** A member's name as it stands in a pointer (RFC 6901). */
const escaped = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
