import { BSON } from "mongodb";

import type { IndexedTopic } from "../topics/live/feed.ts";
import { toIndexed, type TopicRecord } from "./topics/records.ts";

type IndexedRecord = Parameters<typeof toIndexed>[0];

const stringType = 2;
/** The type of an element, a byte that ends its name, and the length of a text. */
const elementOverhead = 1 + 1 + 4;

/** The fields of `indexedFields`, in the order in which they are stored. */
const fields = (["topic_id", "header_query", "content_query", "namespace"] as const).map((name) =>
  Buffer.from(name satisfies keyof TopicRecord),
);

/**
 * Reads a record with `indexedFields` from BSON, in half of the time that the driver takes: a million are
 * read at the start. The driver reads what is not as expected.
 */
export function readIndexed(bson: Buffer): IndexedTopic {
  // The length of all comes first.
  let at = 4;
  const texts: string[] = [];
  for (const name of fields) {
    const text = readText(bson, at, name);
    if (text === undefined) return toIndexed(BSON.deserialize(bson) as IndexedRecord);
    texts.push(text);
    at += elementOverhead + name.length + bson.readInt32LE(at + 2 + name.length);
  }
  const [externalId = "", headerQuery = "", contentQuery = "", namespace = ""] = texts;
  return { externalId, namespace, headerQuery, contentQuery };
}

/** The text of the element at an index; undefined unless it has this name and is well-formed. */
function readText(bson: Buffer, at: number, name: Buffer): string | undefined {
  if (bson[at] !== stringType || !hasName(bson, at + 1, name)) return undefined;
  const start = at + elementOverhead + name.length;
  if (start > bson.length) return undefined;
  // The length includes a zero at the end.
  const end = start + bson.readInt32LE(start - 4) - 1;
  if (end < start || end >= bson.length - 1) return undefined;
  if (start === end) return "";
  const text = bson.toString("utf8", start, end);
  // The driver throws if this stands for bytes that are not UTF-8.
  return text.includes("\u{fffd}") ? undefined : text;
}

function hasName(bson: Buffer, start: number, name: Buffer): boolean {
  for (let at = 0; at < name.length; at += 1) if (bson[start + at] !== name[at]) return false;
  return bson[start + name.length] === 0;
}
