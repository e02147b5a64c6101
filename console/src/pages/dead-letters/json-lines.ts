/** A line of JSON formatted with one member per line. */
export interface JsonLine {
  readonly depth: number;
  readonly text: string;
  /** JSON Pointer to the value that starts on this line; undefined for a closing bracket. */
  readonly pointer: string | undefined;
}

/** An object or array that is not closed yet. */
interface Container {
  readonly pointer: string;
  readonly isArray: boolean;
  items: number;
  /** The pointer to the member whose value comes next. */
  member: string | undefined;
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/**
 * Formats JSON with one member per line, each with the pointer to its value; undefined if the text is not
 * JSON. Works on the text, so that large numbers, repeated members and their order are shown as they were
 * sent.
 */
export function formatJsonLines(json: string): readonly JsonLine[] | undefined {
  if (!isJson(json)) return undefined;
  const lines: { depth: number; text: string; pointer: string | undefined }[] = [];
  const open: Container[] = [];

  const begin = (text: string, pointer: string | undefined): void =>
    void lines.push({ depth: open.length, text, pointer });
  const add = (text: string): void => {
    const line = lines.at(-1);
    if (line !== undefined) line.text += text;
  };

  /** Writes the start of a value, after its name or on a new line, and returns its pointer. */
  function startValue(text: string): string {
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
      open.push({ pointer: startValue(token), isArray: token === "[", items: 0, member: undefined });
    else if (token === "}" || token === "]") {
      open.pop();
      if (last === "{" || last === "[") add(token);
      else begin(token, undefined);
    } else if (token === ",") add(",");
    else if (token === ":") add(": ");
    else if (within === undefined || within.isArray || within.member !== undefined) startValue(token);
    else {
      within.member = `${within.pointer}/${escapeName(JSON.parse(token) as string)}`;
      begin(token, within.member);
    }
    last = token;
  }
  return lines;
}

/** Escapes a member name for a pointer (RFC 6901). */
const escapeName = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
