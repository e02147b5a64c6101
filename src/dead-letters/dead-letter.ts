import { deadLetterHeader } from "../../schemas/dead-letter.ts";
import { refusalCodes, type Fault, type RefusalCode } from "../lib/errors.ts";
import {
  formatRecordPosition,
  getHeaderText,
  type LogRecord,
  type PartitionRecord,
  type RecordHeaders,
  type RecordPosition,
} from "../sync/records.ts";

/** Why a letter was refused: one of our codes, or OTHER for what somebody else put into the dead-letter topic. */
export type DeadLetterCode = RefusalCode | "OTHER";

export const deadLetterCodes: readonly DeadLetterCode[] = [...refusalCodes, "OTHER"];

/** A refused announcement, as it lies in the dead-letter topic. */
export interface DeadLetter {
  /** `formatRecordPosition` of the refused announcement; of the letter itself, when somebody else wrote it. */
  readonly id: string;
  /** Where the letter itself lies. */
  readonly at: RecordPosition;
  /** Where the announcement came from, when that is told. */
  readonly source: RecordPosition | undefined;
  /** The record's own time, of when it was sent first where that is told; undefined when it has none. */
  readonly time: Date | undefined;
  readonly code: DeadLetterCode;
  readonly message: string;
  readonly details: readonly Fault[];
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The announcement's own headers. */
  readonly headers: RecordHeaders;
  /** Of the topic that the announcement speaks of; undefined when it does not say. */
  readonly externalId: string | undefined;
  /** Why the bytes are not here; undefined when they are. */
  readonly omitted: string | undefined;
  /** The id of the letter that the announcement was a replay of. */
  readonly replayOf: string | undefined;
}

/** The external id that a record speaks of; undefined when it does not say. */
export type IdentifyTopic = (record: Pick<LogRecord, "key" | "value" | "headers">) => string | undefined;

const isOfLetter = (name: string): boolean =>
  name.startsWith("__connect.errors.") || name.startsWith("topicsync.");

/**
 * Reads a record of the dead-letter topic (the headers are those of consumers/dead-letter-sender.ts). Never throws: anybody can
 * write there, so what makes no sense is taken for somebody else's.
 */
export function parseDeadLetter(
  topic: string,
  { partition, record }: PartitionRecord,
  identify: IdentifyTopic,
): DeadLetter {
  const text = (name: string): string | undefined => getHeaderText(record.headers, name);
  const at = { topic, partition, offset: record.offset };
  const source = placeOf(
    text(deadLetterHeader.topic),
    text(deadLetterHeader.partition),
    text(deadLetterHeader.offset),
    text(deadLetterHeader.epoch),
  );
  const isOurs = source !== undefined && text(deadLetterHeader.id) === formatRecordPosition(source);
  const code = refusalCodes.find((known) => isOurs && known === text(deadLetterHeader.code)) ?? "OTHER";
  const own = {
    key: isOurs && isKeyless(record) ? null : record.key,
    value: record.value,
    headers: Object.fromEntries(Object.entries(record.headers).filter(([name]) => !isOfLetter(name))),
  };
  return {
    id: formatRecordPosition(isOurs ? source : at),
    at,
    source,
    time: timeOf(text(deadLetterHeader.time) ?? record.timestamp),
    code,
    message: text(deadLetterHeader.message) ?? text(deadLetterHeader.className) ?? "",
    details: isOurs ? detailsIn(text(deadLetterHeader.details)) : [],
    ...own,
    get externalId() {
      return identify(own);
    },
    omitted: omissionIn(record, isOurs),
    replayOf: text(deadLetterHeader.replayOf),
  };
}

function omissionIn({ value, headers, skippedBatch }: LogRecord, isOurs: boolean): string | undefined {
  if (skippedBatch !== undefined) return "the letters here are a batch that is too large to decompress";
  return isOurs && value === null ? getHeaderText(headers, deadLetterHeader.omitted) : undefined;
}

const isKeyless = ({ key, headers }: LogRecord): boolean =>
  getHeaderText(headers, deadLetterHeader.keyless) !== undefined &&
  key?.toString() === getHeaderText(headers, deadLetterHeader.id);

const isCount = (text: string | undefined): text is string => text !== undefined && /^\d{1,15}$/.test(text);

/** What Kafka takes for a topic's name. */
const isTopicName = (text: string): boolean => /^[\w.-]{1,249}$/.test(text);

function placeOf(
  topic?: string,
  partition?: string,
  offset?: string,
  epoch = "1",
): RecordPosition | undefined {
  if (topic === undefined || !isTopicName(topic)) return undefined;
  if (!isCount(partition) || !isCount(offset)) return undefined;
  const place = { topic, partition: Number(partition), offset: Number(offset) };
  return isCount(epoch) && Number(epoch) > 1 ? { ...place, epoch: Number(epoch) } : place;
}

/** Kafka writes -1 for none, and takes whatever a producer says. */
function timeOf(timestamp: string): Date | undefined {
  const time = new Date(Number(timestamp));
  return Number(timestamp) >= 0 && !Number.isNaN(time.getTime()) ? time : undefined;
}

function detailsIn(text = "[]"): Fault[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed.filter(isFault) : [];
  } catch {
    return [];
  }
}

const isFault = (one: unknown): one is Fault =>
  typeof one === "object" &&
  one !== null &&
  "path" in one &&
  "message" in one &&
  typeof one.path === "string" &&
  typeof one.message === "string";
