/**
 * What copies and dead letters of events must look like, byte by byte, and which partition they belong in.
 */
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { StoredRecord, WrittenRecord } from "../simulated-servers/index.ts";
import type { EventContent } from "./router-versions.ts";

type Headers = StoredRecord["headers"];

export function getText({ headers }: { readonly headers: Headers }, name: string): string | undefined {
  const found = headers.findLast(([given]) => given === name);
  return found && String(found[1]);
}

/** As the world's producers write events; undefined for what is none. */
export function parseEvent(value: Buffer | null): EventContent | undefined {
  if (value === null || value[0] !== openingBrace) return undefined;
  const { eventType, event } = JSON.parse(String(value)) as {
    readonly eventType: unknown;
    readonly event: { readonly level: string };
  };
  return typeof eventType === "string" ? { eventType, level: event.level } : undefined;
}

const openingBrace = "{".charCodeAt(0);

/** The code of the dead letter of a record that is not an event. */
export const getCodeOfUnusable = ({ value }: StoredRecord): string =>
  value?.[0] === openingBrace ? "SCHEMA_VIOLATION" : "MALFORMED_JSON";

const isSame = (one: Buffer | null, other: Buffer | null): boolean =>
  one === null || other === null ? one === other : one.equals(other);

/** In any order, but those of one name in their order. */
function isSameHeaders(one: Headers, other: Headers): boolean {
  const toText = (headers: Headers): string =>
    JSON.stringify(
      headers
        .map(([name, value]) => [name, value.toString("hex")])
        .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0)),
    );
  return toText(one) === toText(other);
}

const without = (headers: Headers, names: ReadonlySet<string>): Headers =>
  headers.filter(([name]) => !names.has(name));

const copyHeaders: ReadonlySet<string> = new Set([routedEventHeader.topic, routedEventHeader.event]);
const letterHeaders: ReadonlySet<string> = new Set([
  ...Object.values(deadLetterHeader),
  routedEventHeader.undelivered,
]);

/** How a record differs from the event that it was made of; undefined if it does not. */
export function findChange(
  made: WrittenRecord,
  event: StoredRecord,
  own: "copy" | "letter",
): string | undefined {
  if (!isSame(made.key, event.key)) return "its key";
  if (!isSame(made.value, event.value)) return "its value";
  if (made.timestamp !== event.timestamp) return "its timestamp";
  const headers = without(made.headers, own === "copy" ? copyHeaders : letterHeaders);
  // What claims to be a header of topicsync's own is left out.
  const expected = event.headers.filter(([name]) => !name.startsWith("topicsync."));
  return isSameHeaders(headers, expected) ? undefined : "its headers";
}

/**
 * The partition of a copy: by its key, as Kafka's Java clients choose it; without a key, events of a
 * partition stay together.
 */
export const choosePartition = (key: Buffer | null, ofEvent: number, count: number): number =>
  key === null ? ofEvent % count : (murmur2(key) & 0x7fffffff) % count;

/** After org.apache.kafka.common.utils.Utils.murmur2, line by line. */
function murmur2(data: Buffer): number {
  const m = 0x5bd1e995;
  const { length } = data;
  let h = 0x9747b28c ^ length;
  const length4 = length >> 2;
  const byte = (at: number): number => data[at] ?? 0;
  for (let i = 0; i < length4; i += 1) {
    const i4 = i * 4;
    let k = byte(i4) + (byte(i4 + 1) << 8) + (byte(i4 + 2) << 16) + (byte(i4 + 3) << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    k = Math.imul(k, m);
    h = Math.imul(h, m);
    h ^= k;
  }
  const rest = length & ~3;
  if (length % 4 === 3) h ^= byte(rest + 2) << 16;
  if (length % 4 >= 2) h ^= byte(rest + 1) << 8;
  if (length % 4 >= 1) {
    h ^= byte(rest);
    h = Math.imul(h, m);
  }
  h ^= h >>> 13;
  h = Math.imul(h, m);
  h ^= h >>> 15;
  return h;
}
