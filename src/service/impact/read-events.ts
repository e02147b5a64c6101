import { once } from "node:events";

import { RejectionError } from "@topicsync/lib/errors";
import {
  formatRecordPosition,
  measureRecord,
  type FetchedPart,
  type LogReader,
  type LogRecord,
  type OffsetRange,
} from "@topicsync/kafka";
import { decodeEvent, removeForgedHeaders } from "../../../consumers/events/decode.ts";
import type { ImpactRead } from "../../../schemas/impact.ts";
import type { ReadEvent, ReadResult, RejectedRecord, EventSink } from "../../plans/impact/events.ts";
import { ReadTally } from "../../plans/impact/read-tally.ts";
import {
  countOffsets,
  selectRanges,
  type EventSelection,
  type OffsetSource,
} from "../../plans/impact/selection.ts";
import { readUndelivered } from "../../routing/plan.ts";

/** How records are read as events. */
export interface DecodingOptions {
  readonly topic: string;
  readonly maxEventBytes: number;
  /** The key of the proofs of replays; undefined if there is none. */
  readonly proofKey: Buffer | undefined;
}

/** The Kafka topic that events are read from. */
export interface EventSource extends DecodingOptions {
  readonly kafka: OffsetSource & Pick<LogReader, "readRanges">;
}

/** When reading ends with what was read so far. */
export interface Deadline {
  /** Aborted then, once the event loop runs. */
  readonly signal: AbortSignal;
  /** Asked for each record: matching events with hostile filters may take long. */
  readonly hasPassed: () => boolean;
}

export interface ReadingOptions {
  readonly selection: EventSelection;
  /** Undefined: without a limit. */
  readonly maxOffsets?: number | undefined;
  readonly deadline?: Deadline | undefined;
  /** Stops reading, which then throws UnavailableError. */
  readonly abort: AbortSignal;
  /** Called with the number of offsets that were read. Must not throw. */
  readonly onProgress: (done: number, total: number) => void;
}

/** Reads a record as the router does. */
export function readRecord(
  given: LogRecord,
  partition: number,
  { topic, maxEventBytes, proofKey }: DecodingOptions,
): ReadEvent | RejectedRecord {
  const place = { partition, offset: given.offset, timestamp: Number(given.timestamp) };
  const own = removeForgedHeaders(given, { topic }, proofKey);
  const decoded = decodeEvent(own, maxEventBytes);
  if ("rejection" in decoded) return { ...place, code: decoded.rejection.code };
  const { event, record } = decoded;
  return { ...place, event, record, bytes: measureRecord(own, 0), only: readUndelivered(own) };
}

/** Names a record like the headers of its copies do. */
export const nameRecord =
  (topic: string) =>
  ({ partition, offset }: Pick<ReadEvent, "partition" | "offset">): string =>
    formatRecordPosition({ topic, partition, offset });

/**
 * Reads the selected events of a Kafka topic. Throws a RejectionError for offsets that Kafka does not have,
 * and UnavailableError.
 */
export async function readEvents(
  source: EventSource,
  sink: EventSink,
  options: ReadingOptions,
): Promise<ReadResult> {
  const { kafka, topic } = source;
  const { ranges, topicId } = await selectRanges(kafka, topic, options.selection);
  requireAtMost(options.maxOffsets, countOffsets(ranges));
  const reading = new RangeReading(source, ranges, sink);
  const running = reading.run(options);
  // A broker that does not respond must not delay the result.
  running.catch(() => undefined);
  const expired = options.deadline && once(options.deadline.signal, "abort").then(() => false);
  const complete = await Promise.race(expired === undefined ? [running] : [running, expired]);
  return { complete, read: reading.describe(topicId) };
}

function requireAtMost(max = Infinity, offsets: number): void {
  if (offsets <= max) return;
  const message = `selects ${offsets} records, more than ${max}: choose a shorter time, or use the command line`;
  throw new RejectionError("SCHEMA_VIOLATION", "Too many records are selected.", [{ path: "", message }]);
}

/** Reads ranges, and knows how far it has come. */
class RangeReading {
  readonly #source: EventSource;
  readonly #ranges: readonly OffsetRange[];
  readonly #tally: ReadTally;
  /** The offset after the last one that was read, by partition. */
  readonly #ends: Map<number, number>;
  /** The offsets of batches that could not be read, but the last of each, which stands for the batch. */
  #skipped = 0;

  constructor(source: EventSource, ranges: readonly OffsetRange[], sink: EventSink) {
    this.#source = source;
    this.#ranges = ranges;
    this.#tally = new ReadTally(sink);
    this.#ends = new Map(ranges.map(({ partition, from }) => [partition, from]));
  }

  /** Returns whether everything was read before the deadline. */
  async run({ abort, deadline, onProgress }: ReadingOptions): Promise<boolean> {
    const total = countOffsets(this.#ranges);
    const { kafka, topic } = this.#source;
    for await (const part of kafka.readRanges(topic, { ranges: this.#ranges, abort })) {
      if (!this.#add(part, deadline)) return false;
      onProgress(countOffsets(this.#readRanges), total);
    }
    return true;
  }

  /** Returns false once the deadline has passed. */
  #add({ partition, records, end }: FetchedPart, deadline: Deadline | undefined): boolean {
    for (const record of records) {
      if (deadline !== undefined && (deadline.signal.aborted || deadline.hasPassed())) return false;
      this.#countSkipped(record, partition);
      this.#tally.add(readRecord(record, partition, this.#source));
      this.#ends.set(partition, record.offset + 1);
    }
    this.#ends.set(partition, end);
    return true;
  }

  #countSkipped({ skippedBatch }: LogRecord, partition: number): void {
    if (skippedBatch === undefined) return;
    const { firstOffset, lastOffset } = skippedBatch;
    this.#skipped += lastOffset - Math.max(firstOffset, this.#ends.get(partition) ?? firstOffset);
  }

  get #readRanges(): OffsetRange[] {
    return this.#ranges.map(({ partition, from }) => ({
      partition,
      from,
      to: this.#ends.get(partition) ?? from,
    }));
  }

  describe(topicId: string | undefined): ImpactRead {
    const partitions = this.#readRanges;
    const kafkaTopic = this.#source.topic;
    const read = this.#tally.describe({ kafkaTopic, topicId: topicId ?? null, partitions });
    return { ...read, withoutRecord: countOffsets(partitions) - read.records - this.#skipped };
  }
}
