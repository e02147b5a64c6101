import type { DeadLetterHeaders } from "../schemas/dead-letter.ts";
import { Unavailable, type Refusal } from "../src/errors.ts";
import type { LogRecord, OutgoingRecord, RecordSink } from "../src/records.ts";
import type { Partition } from "../src/topics/topic.ts";

/** A record that was refused, and why. */
export interface DeadLetter {
  readonly partition: Partition;
  readonly record: LogRecord;
  readonly refusal: Refusal;
}

/** What was refused of a stretch of records, by offset. */
export interface Refused {
  readonly partition: Partition;
  readonly records: readonly LogRecord[];
  readonly refused: readonly { readonly offset: number; readonly refusal: Refusal }[];
}

/** Headers longer than this are cut: the reasons must not make a letter too large. */
const mostHeaderCharacters = 8_000;

/**
 * Sends dead letters: the record as it came (bytes, key, headers, timestamp) with the reason in its headers, under the
 * names that Kafka Connect uses and our own. What the broker finds too large is sent without its value, as a reference
 * to where the value lies. Throws Unavailable when a letter could not be kept.
 */
export async function sendDeadLetters(sink: RecordSink, letters: readonly DeadLetter[]): Promise<void> {
  if (letters.length === 0) return;
  const tooLarge = await sink.send(letters.map(letterOf));
  if (tooLarge.length === 0) return;
  const references = letters.filter((_, index) => tooLarge.includes(index)).map(referenceOf);
  const refused = await sink.send(references);
  if (refused.length > 0)
    throw new Unavailable(`the dead-letter topic refuses ${refused.length} records as too large`);
}

/** Sends the records that were refused as dead letters. Throws as `sendDeadLetters` does. */
export async function sendRefused(sink: RecordSink, { partition, records, refused }: Refused): Promise<void> {
  const byOffset = new Map(records.map((record) => [record.offset, record]));
  const letters = refused.flatMap(({ offset, refusal }) => {
    const record = byOffset.get(offset);
    return record === undefined ? [] : [{ partition, record, refusal }];
  });
  await sendDeadLetters(sink, letters);
}

function letterOf({ partition, record, refusal }: DeadLetter): OutgoingRecord {
  const { key, value, headers, timestamp } = record;
  return { key, value, timestamp, headers: { ...headers, ...reasons(partition, record.offset, refusal) } };
}

function referenceOf({ partition, record, refusal }: DeadLetter): OutgoingRecord {
  return {
    key: record.key !== null && record.key.length > mostHeaderCharacters ? null : record.key,
    value: null,
    timestamp: record.timestamp,
    headers: {
      ...reasons(partition, record.offset, refusal),
      "topicsync.omitted": `too large for the dead-letter topic: the record's ${record.value?.length ?? 0} bytes lie at offset ${record.offset} of ${partition.topic}-${partition.partition}`,
    },
  };
}

function reasons({ topic, partition }: Partition, offset: number, refusal: Refusal): DeadLetterHeaders {
  return {
    "__connect.errors.topic": topic,
    "__connect.errors.partition": String(partition),
    "__connect.errors.offset": String(offset),
    "__connect.errors.exception.class.name": `topicsync.${refusal.code}`,
    "__connect.errors.exception.message": cut(refusal.message),
    "topicsync.id": `${topic}-${partition}-${offset}`,
    "topicsync.code": refusal.code,
    "topicsync.details": JSON.stringify(
      refusal.details
        .slice(0, 20)
        .map(({ path, message }) => ({ path: path.slice(0, 200), message: message.slice(0, 200) })),
    ),
  };
}

const cut = (text: string): string =>
  text.length <= mostHeaderCharacters ? text : `${text.slice(0, mostHeaderCharacters)}…`;
