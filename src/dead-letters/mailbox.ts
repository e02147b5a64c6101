import type { PartitionRecord } from "../sync/records.ts";
import { parseDeadLetter, type IdentifyTopic, type DeadLetter, type DeadLetterCode } from "./dead-letter.ts";

/** The records of the dead-letter topic. */
export interface LetterLog {
  readonly topic: string;
  readonly identify: IdentifyTopic;
  /** From the first to the last that is there now. Throws UnavailableError. */
  read(): AsyncIterable<PartitionRecord>;
}

/** A letter, and how often it lies in the topic: a crash between sending letters and moving on sends them twice. */
export interface CountedLetter {
  readonly letter: DeadLetter;
  readonly copies: number;
}

/** The dead letters as they lay there when the mailbox was opened. */
export interface Mailbox {
  readonly count: number;
  /** The longest id's length. */
  readonly widestId: number;
  /** Why the letter of this id was refused; undefined when there is none. */
  codeOf(id: string): DeadLetterCode | undefined;
  /** Every letter once, its last copy, in the order of the dead-letter topic. Can be gone through again. */
  letters(): AsyncGenerator<CountedLetter, void, undefined>;
}

interface Entry {
  partition: number;
  offset: number;
  copies: number;
  code: DeadLetterCode;
}

/** As much is kept in memory, so that the topic need not be read a second time. */
const keptBytes = 32 * 1024 * 1024;

/**
 * Goes through the dead-letter topic once, to know which copy of each letter is the last. Of a topic that is larger than
 * some MB nothing but ids stays in memory, and going through its letters reads it again. Throws UnavailableError.
 */
export async function openMailbox(log: LetterLog): Promise<Mailbox> {
  const entries = new Map<string, Entry>();
  let kept: PartitionRecord[] | undefined = [];
  let bytes = 0;
  let widestId = 0;
  for await (const placed of log.read()) {
    const { id, code, at } = parseDeadLetter(log.topic, placed, log.identify);
    const copies = (entries.get(id)?.copies ?? 0) + 1;
    entries.set(id, { partition: at.partition, offset: at.offset, copies, code });
    widestId = Math.max(widestId, id.length);
    bytes += getRecordSize(placed);
    if (bytes > keptBytes) kept = undefined;
    kept?.push(placed);
  }

  return {
    count: entries.size,
    widestId,
    codeOf: (id) => entries.get(id)?.code,
    async *letters() {
      for await (const placed of kept ?? log.read()) {
        const letter = parseDeadLetter(log.topic, placed, log.identify);
        const entry = entries.get(letter.id);
        // Copies that are not the last, and what came after the mailbox was opened.
        if (entry?.partition !== letter.at.partition || entry.offset !== letter.at.offset) continue;
        yield { letter, copies: entry.copies };
      }
    },
  };
}

const bytesBesides = 500;

/** About how many bytes of memory a record takes. */
export function getRecordSize({ record: { key, value, headers } }: PartitionRecord): number {
  const texts = Object.values(headers).flat();
  const headerBytes = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return (key?.length ?? 0) + (value?.length ?? 0) + headerBytes + bytesBesides;
}
