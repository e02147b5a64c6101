import { UnavailableError, type RejectionError } from "@topicsync/lib/errors";
import {
  type LogRecord,
  type OutgoingRecord,
  type RecordProducer,
  type SendRejection,
  type Partition,
  getHeader,
  getHeaderText,
  measureRecord,
  formatRecordPosition,
  withHeaders,
} from "@topicsync/kafka";
import { type DeadLetterHeaders, deadLetterHeader } from "../schemas/dead-letters/record.ts";

/** A rejected record and its reason. */
export interface OutgoingDeadLetter {
  readonly partition: Partition;
  /** Of the partition's log; see Position. */
  readonly epoch: number;
  readonly record: LogRecord;
  readonly rejection: RejectionError;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The rejections of a batch of records, by offset. */
interface RejectedRecord {
  readonly partition: Partition;
  readonly epoch: number;
  readonly records: readonly LogRecord[];
  readonly rejected: readonly Rejected[];
}

interface Rejected extends Pick<OutgoingDeadLetter, "rejection" | "headers"> {
  readonly offset: number;
}

/** Larger records are not offered to the broker, which closes the connection on a request of 100 MB. */
const maxLetterBytes = 16 * 1024 * 1024;
/** Longer headers are cut, or the reason could make a dead letter too large. */
const maxHeaderCharacters = 8_000;

/**
 * Sends dead letters: the original record (bytes, key, headers, timestamp) with the reason in its headers,
 * under Kafka Connect's names and our own. A rejected one is sent again in a form that the topic accepts:
 * without its value when it is too large, otherwise without its timestamp and with a key. Throws
 * UnavailableError when a dead letter could not be stored.
 */
export async function sendDeadLetters(
  producer: Pick<RecordProducer, "send">,
  letters: readonly OutgoingDeadLetter[],
): Promise<void> {
  let sending: readonly Form[] = letters.map((letter) => ({
    letter,
    isReference: letter.record.skippedBatch !== undefined || measureRecord(letter.record) > maxLetterBytes,
    isPlain: false,
  }));
  while (sending.length > 0) {
    const results = await producer.send(sending.map(toRecord));
    sending = sending.flatMap((form, index) => {
      const result = results[index];
      return result !== undefined && "rejection" in result ? [simplify(form, result.rejection)] : [];
    });
  }
}

/** How a letter is sent. */
interface Form {
  readonly letter: OutgoingDeadLetter;
  /** Without its value; it names the position of the original. */
  readonly isReference: boolean;
  /** With the time of sending and with a key, as every topic accepts it. */
  readonly isPlain: boolean;
}

/** The next simpler form. Throws UnavailableError when there is none. */
function simplify(form: Form, { reason, message }: SendRejection): Form {
  if (reason === "too-large" && !form.isReference) return { ...form, isReference: true };
  if (reason === "not-acceptable" && !form.isPlain) return { ...form, isPlain: true };
  throw new UnavailableError(`the dead-letter topic rejects a record: ${message}`);
}

/** Sends the records that were rejected as dead letters. Throws as `sendDeadLetters` does. */
export async function sendRejected(
  producer: Pick<RecordProducer, "send">,
  rejectedRecords: RejectedRecord,
): Promise<void> {
  const { partition, epoch, records, rejected } = rejectedRecords;
  const byOffset = new Map(records.map((record) => [record.offset, record]));
  const letters = rejected.flatMap(({ offset, rejection, headers }) => {
    const record = byOffset.get(offset);
    return record === undefined ? [] : [{ partition, epoch, record, rejection, headers }];
  });
  await sendDeadLetters(producer, letters);
}

function toRecord({ letter, isReference, isPlain }: Form): OutgoingRecord {
  const record = isReference ? toReference(letter) : toLetter(letter);
  return isPlain ? toPlain(record, letter) : record;
}

function toLetter(letter: OutgoingDeadLetter): OutgoingRecord {
  const { key, value, headers, timestamp } = letter.record;
  return { key, value, timestamp, headers: withHeaders(headers, Object.entries(reasons(letter))) };
}

function toReference(letter: OutgoingDeadLetter): OutgoingRecord {
  const { partition, record } = letter;
  return {
    key: record.key !== null && record.key.length > maxHeaderCharacters ? null : record.key,
    value: null,
    timestamp: record.timestamp,
    headers: Object.entries({
      ...reasons(letter),
      [deadLetterHeader.omitted]: omission(partition, record),
    }),
  };
}

function omission({ topic, partition }: Partition, { skippedBatch, value, offset }: LogRecord): string {
  if (skippedBatch === undefined)
    return `too large for the dead-letter topic: the record's ${value?.length ?? 0} bytes are at offset ${offset} of ${topic}-${partition}`;
  const { firstOffset, lastOffset, reason } = skippedBatch;
  return `the records are at the offsets ${firstOffset} to ${lastOffset} of ${topic}-${partition}, in a batch that ${reason}`;
}

/**
 * A topic may limit timestamps, and a compacted one requires keys. An existing key stays: a replay needs it.
 */
function toPlain(record: OutgoingRecord, { record: original }: OutgoingDeadLetter): OutgoingRecord {
  const { key, headers } = record;
  return {
    ...record,
    key: key ?? Buffer.from(getHeader(headers, deadLetterHeader.id) ?? ""),
    timestamp: undefined,
    headers: withHeaders(headers, [
      [deadLetterHeader.time, getHeaderText(original.headers, deadLetterHeader.time) ?? original.timestamp],
      ...(key === null ? [[deadLetterHeader.keyless, "true"] as const] : []),
    ]),
  };
}

function reasons({
  partition: { topic, partition },
  epoch,
  record,
  rejection,
  headers,
}: OutgoingDeadLetter): DeadLetterHeaders {
  const { offset } = record;
  return {
    ...headers,
    [deadLetterHeader.topic]: topic,
    [deadLetterHeader.partition]: String(partition),
    [deadLetterHeader.offset]: String(offset),
    [deadLetterHeader.className]: `topicsync.${rejection.code}`,
    [deadLetterHeader.message]: cut(rejection.message),
    [deadLetterHeader.id]: formatRecordPosition({ topic, partition, offset, epoch }),
    [deadLetterHeader.epoch]: String(epoch),
    [deadLetterHeader.code]: rejection.code,
    [deadLetterHeader.details]: JSON.stringify(
      rejection.details
        .slice(0, 20)
        .map(({ path, message }) => ({ path: path.slice(0, 200), message: message.slice(0, 200) })),
    ),
  };
}

const cut = (text: string): string =>
  text.length <= maxHeaderCharacters ? text : `${text.slice(0, maxHeaderCharacters)}…`;
