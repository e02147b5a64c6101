import { measureRecord, type PartitionRecord } from "@topicsync/kafka";
import { parseDeadLetter, type FindNamespace, type ParseOptions } from "./dead-letter.ts";

/** A dead letter without its bytes, as it is stored and listed. */
export type DeadLetterSummary = ReturnType<typeof summarize>;

/** A stored summary: `position` is that of the last copy. */
export interface StoredDeadLetter extends DeadLetterSummary {
  /** How many times the dead-letter topic contains it. */
  readonly copies: number;
}

const maxMessageCharacters = 200;
const maxExternalIdCharacters = 1_000;
/** What a record takes besides its parts. */
const overheadBytes = 500;

interface SummaryContext extends ParseOptions {
  readonly findNamespace: FindNamespace;
  /** That of the record before. */
  readonly rank: number;
}

/** Summarizes a record of a dead-letter topic. Never throws. */
export function summarize(
  topic: string,
  placed: PartitionRecord,
  { findNamespace, rank, ...options }: SummaryContext,
) {
  const letter = parseDeadLetter(topic, placed, options);
  const { id, position, source, code, time, externalId } = letter;
  return {
    id,
    position,
    source,
    code,
    time,
    /** Cut if it is long, as is the external id. */
    message: cut(letter.message, maxMessageCharacters),
    omitted: letter.omitted === undefined ? undefined : cut(letter.omitted, maxMessageCharacters),
    externalId: externalId === undefined ? undefined : cut(externalId, maxExternalIdCharacters),
    /** The namespace of its topic; undefined if that is unknown: other programs may claim anything. */
    namespace: code === "OTHER" ? undefined : findNamespace(letter),
    /** The size of the whole record. */
    bytes: measureRecord(placed.record) + overheadBytes,
    /**
     * The latest time seen in the partition so far, in milliseconds since 1970. It orders the dead letters of
     * several partitions and keeps those of one partition in offset order, regardless of their own times.
     */
    rank: Math.max(rank, time?.getTime() ?? 0),
  };
}

const cut = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`;
