/** The values that a record has its place in an order by; fewer than the order has for the place behind all that share these. */
export type Place = readonly (string | Date)[];

/** What the values of a place are, in each order. */
const kinds = {
  externalId: ["text", "text"],
  name: ["text", "text", "text", "text"],
  changed: ["time", "text"],
  retired: ["time", "text"],
} as const satisfies Record<string, readonly ("text" | "time")[]>;

/** An order that an index has; `retired` is that of retirement. */
export type TopicOrder = keyof typeof kinds;

/** An order, and from the last to the first where it begins with a minus sign. */
export type Way = TopicOrder | `-${TopicOrder}`;

const isOrder = (text: string): text is TopicOrder => Object.hasOwn(kinds, text);

/** The order of a way, and whether it goes from the last to the first. */
export function orderOf(way: Way): { readonly order: TopicOrder; readonly descending: boolean } {
  if (isOrder(way)) return { order: way, descending: false };
  const order = way.slice(1);
  return { order: isOrder(order) ? order : "externalId", descending: true };
}

/** Behind which record a list goes on. */
export interface Mark {
  readonly place: Place;
  /** The `_id` of a record that has these values. */
  readonly id: string;
}

/** What a cursor says: at the beginning of a way without a place, and where the place was too long, of which record it is. */
export interface Cursor {
  readonly way: Way;
  readonly place?: Place;
  readonly record?: { readonly id: string; readonly values: number };
}

/** A URL of 2,048 characters has to hold it, a search and the rest. */
const maxCharacters = 1_000;

/** The cursor that goes on behind a mark, or at the beginning of a way. */
export function encodeCursor(way: Way, mark: Mark | undefined): string {
  if (mark === undefined) return encoded({ way });
  const { place, id } = mark;
  const cursor = encoded({ way, place });
  return cursor.length <= maxCharacters ? cursor : encoded({ way, record: { id, values: place.length } });
}

/** What a cursor says; undefined for what is none. */
export function decodeCursor(text: string): Cursor | undefined {
  const [way, id, ...texts] = partsOf(text);
  if (way === undefined || !isWay(way)) return undefined;
  const cursor = cursorOf(way, id, texts);
  // Encoded again it must be the same: decoding passes over whatever is no base64url.
  return encoded(cursor) === text ? cursor : undefined;
}

function cursorOf(way: Way, id: string | undefined, texts: readonly string[]): Cursor {
  if (id === undefined) return { way };
  if (id !== "") return { way, record: { id, values: Number(texts[0]) } };
  const place = kinds[orderOf(way).order]
    .slice(0, texts.length)
    .map((kind, at) => (kind === "time" ? new Date(texts[at] ?? "") : (texts[at] ?? "")));
  return { way, place };
}

const isWay = (text: string): text is Way => isOrder(text.startsWith("-") ? text.slice(1) : text);

function encoded({ way, place, record }: Cursor): string {
  const rest =
    record === undefined ? place && ["", ...place.map(textOf)] : [record.id, String(record.values)];
  return Buffer.from(JSON.stringify([way, ...(rest ?? [])]), "utf8").toString("base64url");
}

/** A time that is none is not to throw: no cursor has it, so that it is refused. */
function textOf(value: string | Date): string {
  if (typeof value === "string") return value;
  return Number.isNaN(value.getTime()) ? "" : value.toISOString();
}

function partsOf(cursor: string): string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return Array.isArray(parts) && parts.every((part) => typeof part === "string") ? parts : [];
  } catch {
    return [];
  }
}
