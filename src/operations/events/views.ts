import { isUtf8 } from "node:buffer";

import type { LoggedEvent } from "../../../consumers/event-log/event-log.ts";
import type { RecordContent, EventItem, EventQuery, EventTrace } from "../../../schemas/events.ts";

const excerptLength = 200;

/** What a query says of the record itself. */
export function createSearch({
  type,
  eventId,
  key,
  text = "",
}: EventQuery): (logged: Pick<LoggedEvent, "record" | "decoded">) => boolean {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return ({ record, decoded }) => {
    const event = "event" in decoded ? decoded.event : undefined;
    if (type !== undefined && event?.eventType !== type) return false;
    if (eventId !== undefined && event?.eventId !== eventId) return false;
    if (key !== undefined && record.key?.toString() !== key) return false;
    if (words.length === 0) return true;
    const value = record.value?.toString() ?? "";
    // Words would not be found in escaped characters.
    const plain = event !== undefined && value.includes("\\u") ? JSON.stringify(event) : value;
    const searched = `${record.key?.toString() ?? ""}\n${plain}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  };
}

/** What list and trace say of a record that this many topics match now. */
export function toPlace({ id, partition, record, decoded, replayOf, waitsFor }: LoggedEvent, topics: number) {
  const { offset, timestamp, key, value, headers } = record;
  const event = "event" in decoded ? decoded.event : undefined;
  const contents = [key, value, ...headers.flat()];
  return {
    ...{ id, partition, offset },
    time: Number(timestamp) < 0 ? null : new Date(Number(timestamp)).toISOString(),
    bytes: contents.reduce((sum, content) => sum + (content?.length ?? 0), 0),
    eventId: event?.eventId ?? null,
    eventType: event?.eventType ?? null,
    outcome: getOutcome({ decoded, waitsFor }, topics),
    ...("rejection" in decoded && { code: decoded.rejection.code }),
    ...(replayOf !== undefined && { replayOf }),
  };
}

export const toItem = (logged: LoggedEvent, topics: number): EventItem => ({
  ...toPlace(logged, topics),
  key: logged.record.key === null ? null : excerpt(logged.record.key),
  excerpt: excerpt(logged.record.value ?? Buffer.alloc(0)),
  topics,
});

/** The key, value and headers of a record, and what is wrong with it. */
export const toContents = ({ record: { key, value, headers }, decoded }: LoggedEvent) => ({
  ...{ key: toContent(key), value: toContent(value) },
  headers: headers.map(([name, content]) => ({ name, value: toContent(content) })),
  ...("rejection" in decoded && { faults: decoded.rejection.details.map(toFault) }),
});

/** Text has at most four bytes per character. */
const excerpt = (content: Buffer): string =>
  content
    .subarray(0, 4 * excerptLength)
    .toString()
    .slice(0, excerptLength)
    .toWellFormed();

function getOutcome(
  { decoded, waitsFor }: Pick<LoggedEvent, "decoded" | "waitsFor">,
  topics: number,
): EventItem["outcome"] {
  if (waitsFor > 0) return "waiting";
  if ("rejection" in decoded) return "rejected";
  return topics > 0 ? "matched" : "unmatched";
}

function toContent(content: Buffer | string | null): RecordContent | null {
  if (content === null) return null;
  if (typeof content === "string") return { text: content };
  return isUtf8(content) ? { text: content.toString() } : { base64: content.toString("base64") };
}

const toFault = ({ path, message }: NonNullable<EventTrace["faults"]>[number]) => ({ path, message });
