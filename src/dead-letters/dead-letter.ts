import { rejectionCodes, type Fault, type RejectionCode } from "@topicsync/lib/errors";
import { toTime } from "@topicsync/lib/time";
import {
  formatRecordPosition,
  getHeaderText,
  type LogRecord,
  type PartitionRecord,
  type RecordPosition,
} from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import { isProven } from "./proof.ts";

/** Why a record was rejected; OTHER for dead letters that topicsync did not write. */
export type DeadLetterCode = RejectionCode | "OTHER";

export const deadLetterCodes: readonly DeadLetterCode[] = [...rejectionCodes, "OTHER"];

/** A rejected record, parsed from the dead-letter topic. */
export type DeadLetter = ReturnType<typeof parseDeadLetter>;

/** Finds the external id in a record. */
export type IdentifyTopic = (record: Pick<LogRecord, "key" | "value" | "headers">) => string | undefined;

/** Finds the namespace of the topic in a record; undefined if it is unknown. */
export type FindNamespace = (record: Pick<LogRecord, "value" | "headers">) => string | undefined;

/** Whether a header was added to the record when it became a dead letter, or when it was replayed. */
export const isDeadLetterHeader = (name: string): boolean =>
  name.startsWith("__connect.errors.") || name.startsWith("topicsync.");

export interface ParseOptions {
  readonly identify: IdentifyTopic;
  /** The key of the proofs. "any": what looks like ours is believed, for those who only report it. */
  readonly proofKey: Buffer | "any";
}

/**
 * Parses a record of the dead-letter topic, with the headers of consumers/dead-letter-sender.ts. Never
 * throws: any program can write to the topic, and what it writes has no proof, and the code OTHER.
 */
export function parseDeadLetter(
  topic: string,
  { partition, record }: PartitionRecord,
  { identify, proofKey }: ParseOptions,
) {
  const text = (name: string): string | undefined => getHeaderText(record.headers, name);
  const position: RecordPosition = { topic, partition, offset: record.offset };
  const source = parsePosition(
    text(deadLetterHeader.topic),
    text(deadLetterHeader.partition),
    text(deadLetterHeader.offset),
    text(deadLetterHeader.epoch),
  );
  const isOurs =
    source !== undefined &&
    text(deadLetterHeader.id) === formatRecordPosition(source) &&
    (proofKey === "any" || isProven(proofKey, topic, record));
  const code: DeadLetterCode =
    rejectionCodes.find((known) => isOurs && known === text(deadLetterHeader.code)) ?? "OTHER";
  const own = {
    key: isOurs && isKeyless(record) ? null : record.key,
    value: record.value,
    headers: record.headers.filter(([name]) => !isDeadLetterHeader(name)),
  };
  return {
    /** The position of the rejected record, or of the dead letter itself if topicsync did not write it. */
    id: formatRecordPosition(isOurs ? source : position),
    /** The position in the dead-letter topic. */
    position,
    /** The position of the rejected record, if known. */
    source,
    /** When the rejected record was first written, if known. */
    time: toTime(Number(text(deadLetterHeader.time) ?? record.timestamp)),
    code,
    message: cut(text(deadLetterHeader.message) ?? text(deadLetterHeader.className)) ?? "",
    details: isOurs ? parseDetails(text(deadLetterHeader.details)) : [],
    ...own,
    /** The external id in the record, if any. */
    get externalId(): string | undefined {
      return identify(own);
    },
    /** Why the value is missing; undefined if it is not. */
    omitted: cut(findOmission(record, isOurs)),
    /** The id of the dead letter that the record was a replay of. */
    replayOf: cut(text(deadLetterHeader.replayOf)),
    /**
     * The external ids of the topics that an event could not be forwarded to, as JSON; undefined when it was
     * all of them.
     */
    undelivered: isOurs ? text(routedEventHeader.undelivered) : undefined,
  };
}

/** Longer than what topicsync writes. */
const maxTextCharacters = 10_000;
const maxDetailsCharacters = 100_000;

const cut = (text: string | undefined): string | undefined => text?.slice(0, maxTextCharacters);

function findOmission({ value, headers, skippedBatch }: LogRecord, isOurs: boolean): string | undefined {
  if (skippedBatch !== undefined) return `the dead letters are in a batch that ${skippedBatch.reason}`;
  return isOurs && value === null ? getHeaderText(headers, deadLetterHeader.omitted) : undefined;
}

const isKeyless = ({ key, headers }: LogRecord): boolean =>
  getHeaderText(headers, deadLetterHeader.keyless) !== undefined &&
  key?.toString() === getHeaderText(headers, deadLetterHeader.id);

const isNumber = (text: string | undefined): text is string => text !== undefined && /^\d{1,15}$/.test(text);

const isTopicName = (text: string): boolean => /^[\w.-]{1,249}$/.test(text);

function parsePosition(
  topic?: string,
  partition?: string,
  offset?: string,
  epoch = "1",
): RecordPosition | undefined {
  if (topic === undefined || !isTopicName(topic)) return undefined;
  if (!isNumber(partition) || !isNumber(offset)) return undefined;
  const position = { topic, partition: Number(partition), offset: Number(offset) };
  return isNumber(epoch) && Number(epoch) > 1 ? { ...position, epoch: Number(epoch) } : position;
}

function parseDetails(text = "[]"): Fault[] {
  if (text.length > maxDetailsCharacters) return [];
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
