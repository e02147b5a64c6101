import { setTimeout as sleep } from "node:timers/promises";

import { messageOf, Unavailable } from "../src/errors.ts";
import type { Logger } from "../src/logger.ts";
import { Fenced, type Position, type PositionStep } from "../src/positions.ts";
import type { GroupMember, LogRecord, LogWatch, RecordBatch } from "../src/records.ts";
import type { Partition } from "../src/topics/topic.ts";
import { startOf, type LogView } from "./start-position.ts";

/** What is done with the records of a partition. `Prepared` is what they become before they are written. */
export interface PartitionWork<Prepared> {
  /**
   * How many records a store writes well in one transaction; 2,000 where nothing is said. A store that is slow or cannot take so
   * many gets fewer.
   */
  readonly mostRecordsAWrite?: number;
  /** Takes the partition over and gives its stored position; undefined when there is none. Throws Unavailable. */
  claim(): Promise<Position | undefined>;
  /** Reads records, while the ones before are still being written. Never throws. */
  prepare(records: readonly LogRecord[]): Prepared;
  /** Writes and moves the position. Throws Unavailable, Fenced, or what it could not foresee; nothing counts then. */
  write(prepared: Prepared, step: Step): Promise<void>;
}

/** The step that the position takes. */
export type Step = Pick<PositionStep, "from" | "to">;

export type PauseCause = "outage" | "error";

/** Where a partition stands. */
export interface PartitionStatus extends Partition {
  readonly state: "reading" | "paused";
  /** Why it is paused; undefined while it reads. */
  readonly reason: string | undefined;
  /** What paused it, where something failed: a service that does not answer, or an error that was not foreseen. */
  readonly cause: PauseCause | undefined;
  /** The offset of the next record to apply; undefined until it was looked up, or when there is none. */
  readonly offset: number | undefined;
}

/** Reads one partition from its stored position on, for as long as it is assigned. */
export interface PartitionReader {
  /** Never throws. */
  batch(batch: RecordBatch): Promise<void>;
  status(): PartitionStatus;
  /** Starts nothing more and waits for the write that is under way. */
  close(): Promise<void>;
}

export interface ReaderOptions<Prepared> {
  readonly partition: Partition;
  readonly member: GroupMember;
  readonly watch: LogWatch;
  readonly work: PartitionWork<Prepared>;
  readonly log: Logger;
  /** Called when the reader cannot go on by itself: a fault of the program. */
  readonly failed: (error: unknown) => void;
}

const defaultRecordsAWrite = 2_000;
const mostBytesAWrite = 4 * 1024 * 1024;
/**
 * A write that takes longer than this makes the next ones smaller. One that outlasts the driver's patience would otherwise be begun
 * anew for ever, and whoever is to take the partition over waits for the one under way.
 */
const longWriteMs = 2_000;
const shortWriteMs = 500;
const heartbeatEveryMs = 1_000;
const firstWaitMs = 250;
/** Short: whoever is asked takes its own time before it gives up. */
const longestWaitMs = 1_000;

/**
 * Makes a reader and begins at once: it pauses the partition, looks its position up and resumes from there. While one
 * stretch of records is being written, the next is fetched and prepared. Whenever a write fails, the reader begins anew
 * in the same way, as often as it takes: an outage ends nothing and refuses nothing.
 */
export function createPartitionReader<Prepared>(options: ReaderOptions<Prepared>): PartitionReader {
  const { partition, member, watch, work, log } = options;
  const { mostRecordsAWrite = defaultRecordsAWrite } = work;
  const name = `${partition.topic}-${partition.partition}`;
  /** Why the partition is paused; undefined while it is read. */
  let paused: string | undefined;
  let cause: PauseCause | undefined;
  const closing = new AbortController();
  const isClosed = (): boolean => closing.signal.aborted;
  /** The stored position, and the place of the next record to take. They differ only where the log was cut or made anew. */
  let position: Position | undefined;
  let next: Position = { offset: 0, epoch: 1 };
  /** The write under way. It never rejects: a failed one begins anew and gives false. */
  let writing = Promise.resolve(true);
  /** Writes and look-ups that failed since the last write that went well: each makes the next wait longer. */
  let failures = 0;
  /** How many records the next write has at most: fewer after one that failed or took long. */
  let most = mostRecordsAWrite;

  const waitAfterFailure = async (): Promise<void> => {
    if (failures === 0) return;
    const wait = Math.min(firstWaitMs * 2 ** (failures - 1), longestWaitMs);
    await sleep(wait, undefined, { signal: closing.signal }).catch(() => undefined);
  };

  async function reposition(reason: string): Promise<void> {
    if (paused !== undefined || isClosed()) return;
    paused = reason;
    member.pause(partition);
    const since = Date.now();
    // The write under way still moves the position, or fails.
    await writing;
    for (;;) {
      await waitAfterFailure();
      if (isClosed()) return;
      try {
        position = await work.claim();
        next = await startAt(position);
        break;
      } catch (error) {
        failures += 1;
        paused = messageOf(error);
        cause = causeOf(error);
        if (cause === "error")
          log.error({ partition: name, err: error }, "the sync is paused by an unexpected error");
        else log.warn({ partition: name, reason: paused }, "the sync is paused");
      }
    }
    if (isClosed()) return;
    writing = Promise.resolve(true);
    member.seek(partition, next.offset);
    member.resume(partition);
    paused = undefined;
    cause = undefined;
    log.info({ partition: name, offset: next.offset, pausedMs: Date.now() - since }, "the sync reads");
  }

  function begin(reason: string): void {
    reposition(reason).catch((error: unknown) => {
      log.error({ partition: name, err: error }, "the partition could not be positioned");
      options.failed(error);
    });
  }

  async function startAt(stored: Position | undefined): Promise<Position> {
    const view = await logView(stored);
    const { position: start, warning } = startOf(stored, view);
    if (warning !== undefined) {
      const { low, high } = view;
      log.warn({ partition: name, position: stored?.offset, logStart: low, logEnd: high }, warning);
    }
    return start;
  }

  async function logView(stored: Position | undefined): Promise<LogView> {
    const bounds = (await watch.bounds()).get(partition.partition);
    if (bounds === undefined) throw new Unavailable(`Kafka does not know the partition ${name}`);
    return { ...bounds, firstNewer: await firstNewer(stored) };
  }

  /** The offset of the first record that is newer than anything before a position; undefined when that is not known. */
  async function firstNewer(at: Position | undefined): Promise<number | undefined> {
    if (at?.newest === undefined) return undefined;
    return (await watch.firstSince(at.newest + 1)).get(partition.partition);
  }

  async function write(prepared: Prepared, to: Position): Promise<boolean> {
    const began = performance.now();
    try {
      await work.write(prepared, { from: position, to });
      failures = 0;
      most = fitting(most, performance.now() - began, mostRecordsAWrite);
      position = to;
      member.commit(partition, to.offset);
      return true;
    } catch (error) {
      failures += 1;
      cause = causeOf(error);
      if (cause === undefined) {
        log.warn({ partition: name }, `${messageOf(error)}: looking it up again`);
      } else {
        most = half(most);
        if (cause === "error")
          log.error(
            { partition: name, err: error },
            "a batch failed with an unexpected error: it will be read again",
          );
        else log.warn({ partition: name, err: error }, "a batch could not be written: it will be read again");
      }
      begin(messageOf(error));
      return false;
    }
  }

  /** Whether the log is still the one that was read so far; undefined when that cannot be found out now. */
  async function isSameLog(): Promise<boolean | undefined> {
    const { offset } = next;
    try {
      const newer = await firstNewer(next);
      return newer === undefined || newer >= offset;
    } catch (error) {
      failures += 1;
      log.warn({ partition: name, reason: messageOf(error) }, "the log could not be looked at");
      return undefined;
    }
  }

  begin("looking up the position");

  return {
    async batch(batch) {
      const [first] = batch.records;
      if (first === undefined || paused !== undefined || !batch.isCurrent()) return;
      if (first.offset < next.offset) {
        // kafkajs went back by itself: what it asked for lay outside the log.
        begin("the log does not reach to the position any more");
        return;
      }
      // A log that was made anew and has outgrown the position gives no other sign of itself. Asked while the last write is
      // still under way, and known before anything of the batch is written.
      const isSame = isSameLog();
      for (const records of stretches(batch.records, () => most)) {
        const last = records.at(-1);
        if (last === undefined || isClosed() || !batch.isCurrent()) return;
        const prepared = work.prepare(records);
        if (!(await beating(batch, writing))) return;
        if (!(await beating(batch, isSame))) {
          begin("the log has to be looked at again");
          return;
        }
        const offset = last === batch.records.at(-1) ? batch.end : last.offset + 1;
        next = { ...next, offset, ...newestOf(next, records) };
        writing = write(prepared, next);
        batch.advance(offset - 1);
        if (await batch.heartbeat()) continue;
        // The group waits for us to join it anew, but only as long as it hears of us.
        await beating(batch, writing);
        return;
      }
    },
    status: () => ({
      ...partition,
      state: paused === undefined ? "reading" : "paused",
      reason: paused,
      cause: paused === undefined ? undefined : cause,
      offset: position?.offset,
    }),
    async close() {
      closing.abort();
      await writing;
    },
  };
}

/** Undefined for a position that another consumer moved: nothing failed then. */
function causeOf(error: unknown): PauseCause | undefined {
  if (error instanceof Fenced) return undefined;
  return error instanceof Unavailable ? "outage" : "error";
}

/** Waits for something, telling the group meanwhile that we live. */
async function beating<T>(batch: RecordBatch, promise: Promise<T>): Promise<T> {
  const beat = setInterval(() => void batch.heartbeat(), heartbeatEveryMs);
  try {
    return await promise;
  } finally {
    clearInterval(beat);
  }
}

/** The largest timestamp so far. Records without one have -1. */
function newestOf({ newest = -1 }: Position, records: readonly LogRecord[]): { newest?: number } {
  let largest = newest;
  for (const { timestamp } of records) largest = Math.max(largest, Number(timestamp));
  return largest < 0 ? {} : { newest: largest };
}

const half = (records: number): number => Math.ceil(records / 2);

/** Slow, lest every second write be too large for a store that takes just half. */
const more = (records: number): number => records + Math.ceil(records / 8);

/** How many records the next write may have after one that took so long. */
function fitting(records: number, tookMs: number, most: number): number {
  if (tookMs > longWriteMs) return half(records);
  return tookMs < shortWriteMs ? Math.min(most, more(records)) : records;
}

/** Cuts records into stretches of a size that one write can bear, which may change on the way. */
function* stretches(
  records: readonly LogRecord[],
  mostRecords: () => number,
): Generator<readonly LogRecord[]> {
  let first = 0;
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    const size = record.value?.length ?? 0;
    if (index > first && (index - first >= mostRecords() || bytes + size > mostBytesAWrite)) {
      yield records.slice(first, index);
      first = index;
      bytes = 0;
    }
    bytes += size;
  }
  yield records.slice(first);
}
