import { RejectionError } from "./errors.ts";

interface Kinds {
  readonly string: string;
  readonly integer: number;
  readonly date: Date;
}

type Kind = keyof Kinds;

type Values<K extends readonly Kind[]> = { readonly [I in keyof K]: Kinds[K[I]] };

/** The cursors of one list: the sort values of the last record on a page, base64url-encoded. */
export interface CursorFormat<V extends readonly unknown[]> {
  encode(values: V): string;
  /** Throws a RejectionError for anything that `encode` did not return, such as a cursor of another list. */
  decode(cursor: string): V;
  /** Like `decode`, but returns undefined instead of throwing. */
  tryDecode(cursor: string): V | undefined;
}

/** Raised when the encoding changes, so that old cursors are rejected. */
const version = 1;

/**
 * Defines the cursors of a list in one order; `list` keeps them apart from those of other lists and orders.
 */
export function createCursorFormat<const K extends readonly Kind[]>(
  list: string,
  kinds: K,
): CursorFormat<Values<K>> {
  const encode = (values: readonly unknown[]): string =>
    Buffer.from(JSON.stringify([version, list, ...values])).toString("base64url");

  function tryDecode(cursor: string): Values<K> | undefined {
    const values = parse(cursor)
      .slice(2)
      .map((value, i) => (kinds[i] === "date" && typeof value === "string" ? new Date(value) : value));
    // Decoding base64url skips foreign characters, so the text must also encode to itself.
    return isValues(values, kinds) && encode(values) === cursor ? values : undefined;
  }

  return {
    encode,
    tryDecode,
    decode(cursor) {
      const values = tryDecode(cursor);
      if (values === undefined) throw createCursorError("is not a cursor of this list");
      return values;
    },
  };
}

export const createCursorError = (fault: string): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", "The cursor cannot be used.", [{ path: "/after", message: fault }]);

function parse(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

const isKind: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  integer: Number.isSafeInteger,
  date: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
};

const isValues = <K extends readonly Kind[]>(
  values: readonly unknown[],
  kinds: K,
): values is readonly unknown[] & Values<K> =>
  values.length === kinds.length && kinds.every((kind, i) => isKind[kind](values[i]));
