import { setTimeout as sleep } from "node:timers/promises";

import { getErrorMessage, UnavailableError } from "../src/lib/errors.ts";
import type { Logger } from "../src/lib/logger.ts";
import {
  FencedError,
  type ClaimedPosition,
  type Position,
  type PositionStep,
} from "../src/sync/positions.ts";
import type { GroupMember, LogRecord, LogWatch, RecordBatch, Partition } from "../src/sync/records.ts";
import { reduceBatchSize, fitBatchSize, splitIntoBatches } from "./batch-size.ts";
import { warnAboutLongAbsence } from "./absence.ts";
import { advance, findStart, provesNewEpoch, suspectOffset, type Findings } from "./start-position.ts";

/** What is done with the records of a partition. `Prepared` is what they become before they are written. */
export interface BatchHandler<Prepared> {
  /**
   * How many records a store writes well in one transaction; 2,000 where nothing is said. A store that is slow or cannot take so
   * many gets fewer.
   */
  readonly maxRecordsPerWrite?: number;
  /** Takes the partition over and gives its stored position; undefined when there is none. Throws UnavailableError. */
  claim(): Promise<ClaimedPosition | undefined>;
  /** Reads records, while the ones before are still being written. Never throws. */
  prepare(records: readonly LogRecord[]): Prepared;
  /**
   * Writes and moves the position. Throws UnavailableError, FencedError, or what it could not foresee; nothing is stored then, unless
   * only the answer to the commit was lost.
   */
  write(prepared: Prepared, step: Step): Promise<void>;
  /** Reports what a `write` stored that threw: the position turned out to be where it was to move it. */
  confirm(prepared: Prepared): void;
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
  /** A fetch from `first` up to `end` delivered nothing. */
  skipped(range: { readonly first: number; readonly end: number }): void;
  status(): PartitionStatus;
  /** Starts nothing more and waits for the write that is under way. */
  close(): Promise<void>;
}

export interface ReaderOptions<Prepared> {
  readonly partition: Partition;
  readonly member: GroupMember;
  readonly watch: LogWatch;
  readonly work: BatchHandler<Prepared>;
  readonly log: Logger;
  /** Called when the reader cannot go on by itself: a fault of the program. */
  readonly failed: (error: unknown) => void;
}

const defaultRecordsAWrite = 2_000;
const heartbeatEveryMs = 1_000;
const firstWaitMs = 250;
/** Short: whoever is asked takes its own time before it gives up. */
const maxWaitMs = 1_000;

/**
 * Makes a reader and begins at once: it pauses the partition, looks its position up and resumes from there. While one
 * stretch of records is being written, the next is fetched and prepared. Whenever a write fails, the reader begins anew
 * in the same way, as often as it takes: an outage ends nothing and refuses nothing.
 */
export function createPartitionReader<Prepared>(options: ReaderOptions<Prepared>): PartitionReader {
  const { partition, member, watch, work, log } = options;
  const { maxRecordsPerWrite: mostRecordsAWrite = defaultRecordsAWrite } = work;
  const name = `${partition.topic}-${partition.partition}`;
  /** Why the partition is paused; undefined while it is read. */
  let paused: string | undefined;
  let cause: PauseCause | undefined;
  const closing = new AbortController();
  const isClosed = (): boolean => closing.signal.aborted;
  /** The stored position, and the next record to apply. They differ only where the log was cut or created again. */
  let position: Position | undefined;
  let next: Position = { offset: 0, epoch: 1 };
  /** Whether records before `next` are fetched once more, to examine them; see start-position.ts. */
  let examining = false;
  let hasRead = false;
  let findings: Findings = { endedEpoch: 0, examinedTo: 0 };
  /** The last write, when it failed: it may have been stored all the same. */
  let unconfirmed: { readonly prepared: Prepared; readonly to: Position } | undefined;
  /** The write under way. It never rejects: a failed one begins anew and gives false. */
  let writing = Promise.resolve(true);
  /** Writes and look-ups that failed since the last write that went well: each makes the next wait longer. */
  let failures = 0;
  /** How many records the next write has at most: fewer after one that failed or took long. */
  let most = mostRecordsAWrite;

  const waitAfterFailure = async (): Promise<void> => {
    if (failures === 0) return;
    const wait = Math.min(firstWaitMs * 2 ** (failures - 1), maxWaitMs);
    await sleep(wait, undefined, { signal: closing.signal }).catch(() => undefined);
  };

  async function reposition(reason: string): Promise<void> {
    if (paused !== undefined || isClosed()) return;
    paused = reason;
    member.pause(partition);
    const since = Date.now();
    // The write under way still moves the position, or fails.
    await writing;
    let fetchFrom: number;
    for (;;) {
      await waitAfterFailure();
      if (isClosed()) return;
      try {
        const claimed = await work.claim();
        position = claimed;
        confirmWrite(claimed);
        fetchFrom = await start(claimed);
        break;
      } catch (error) {
        failures += 1;
        paused = getErrorMessage(error);
        cause = causeOf(error);
        if (cause === "error")
          log.error({ partition: name, err: error }, "the sync is paused by an unexpected error");
        else log.warn({ partition: name, reason: paused }, "the sync is paused");
      }
    }
    if (isClosed()) return;
    writing = Promise.resolve(true);
    hasRead = true;
    member.seek(partition, fetchFrom);
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

  /** Sets `next` by the stored position and the log, and returns where fetching starts. Throws UnavailableError. */
  async function start(claimed: ClaimedPosition | undefined): Promise<number> {
    const bounds = (await watch.bounds()).get(partition.partition);
    if (bounds === undefined) throw new UnavailableError(`Kafka does not know the partition ${name}`);
    // Later on the position is old because nothing was announced.
    if (!hasRead) await warnAboutLongAbsence(claimed, bounds, { watch, log, partition: name });
    const view = { ...bounds, firstNewer: await firstNewer(position) };
    const { warning, fetchFrom, ...found } = findStart(position, view, findings);
    if (warning !== undefined) {
      const { low, high } = bounds;
      log.warn({ partition: name, position: position?.offset, logStart: low, logEnd: high }, warning);
    }
    next = found.position;
    examining = fetchFrom < next.offset;
    return fetchFrom;
  }

  /** The first offset with a later timestamp than anything applied; undefined when that is not known. Throws UnavailableError. */
  async function firstNewer(at: Position | undefined): Promise<number | undefined> {
    if (at?.newest === undefined) return undefined;
    return (await watch.firstSince(at.newest + 1)).get(partition.partition);
  }

  /** Reports the last write if it was stored although it failed: only the answer to its commit was lost. */
  function confirmWrite(claimed: ClaimedPosition | undefined): void {
    const { prepared, to } = unconfirmed ?? {};
    unconfirmed = undefined;
    if (prepared === undefined || claimed?.isOurs !== true) return;
    if (claimed.offset === to?.offset && claimed.epoch === to.epoch) work.confirm(prepared);
  }

  async function write(prepared: Prepared, to: Position): Promise<boolean> {
    const began = performance.now();
    try {
      await work.write(prepared, { from: position, to });
      failures = 0;
      most = fitBatchSize(most, performance.now() - began, mostRecordsAWrite);
      position = to;
      member.commit(partition, to.offset);
      return true;
    } catch (error) {
      failures += 1;
      unconfirmed = { prepared, to };
      cause = causeOf(error);
      if (cause === undefined) {
        log.warn({ partition: name }, `${getErrorMessage(error)}: looking it up again`);
      } else {
        most = reduceBatchSize(most);
        if (cause === "error")
          log.error(
            { partition: name, err: error },
            "a batch failed with an unexpected error: it will be read again",
          );
        else log.warn({ partition: name, err: error }, "a batch could not be written: it will be read again");
      }
      begin(getErrorMessage(error));
      return false;
    }
  }

  /** Where records before `next` have to be examined from; undefined when none has to be. "unknown": Kafka did not answer. */
  async function findSuspect(): Promise<number | "unknown" | undefined> {
    const at = next;
    try {
      return suspectOffset(at, await firstNewer(at), findings.examinedTo);
    } catch (error) {
      failures += 1;
      log.warn({ partition: name, reason: getErrorMessage(error) }, "the log could not be looked at");
      return "unknown";
    }
  }

  /** Examines what was fetched before `next`. False when it proves that the log is a new one: reading starts again then. */
  function examine({ records, end }: RecordBatch): boolean {
    for (const record of records) {
      if (record.offset >= next.offset) break;
      if (!provesNewEpoch(record, next)) continue;
      findings = { endedEpoch: next.epoch, examinedTo: 0 };
      begin("the log is a new one");
      return false;
    }
    if (examining && end > next.offset) {
      examining = false;
      findings = { ...findings, examinedTo: next.offset };
    }
    return true;
  }

  const isUnapplied = ({ offset }: LogRecord): boolean => offset >= next.offset;

  begin("looking up the position");

  return {
    async batch(batch) {
      const [first] = batch.records;
      if (first === undefined || paused !== undefined || !batch.isCurrent()) return;
      if (first.offset < next.offset && !examining) {
        // kafkajs went back by itself: what it asked for lay outside the log.
        begin("the log does not reach to the position any more");
        return;
      }
      if (!examine(batch)) return;
      const unapplied = first.offset < next.offset ? batch.records.filter(isUnapplied) : batch.records;
      if (unapplied.length === 0) {
        batch.advance(batch.end - 1);
        await batch.heartbeat();
        return;
      }
      // A log that was created again and has outgrown the position shows no other sign. Asked while the last write is still
      // under way, and known before anything of the batch is written.
      const suspect = findSuspect();
      for (const records of splitIntoBatches(unapplied, () => most)) {
        const last = records.at(-1);
        if (last === undefined || isClosed() || !batch.isCurrent()) return;
        const prepared = work.prepare(records);
        if (!(await beating(batch, writing))) return;
        const suspicious = await beating(batch, suspect);
        // Meanwhile the partition may have got another reader, which a seek or a write of this one would disturb.
        if (isClosed() || !batch.isCurrent()) return;
        if (suspicious === "unknown") {
          begin("the log could not be looked at");
          return;
        }
        if (suspicious !== undefined) {
          examining = true;
          member.seek(partition, suspicious);
          return;
        }
        const offset = last === batch.records.at(-1) ? batch.end : last.offset + 1;
        next = advance(next, records, offset);
        writing = write(prepared, next);
        batch.advance(offset - 1);
        if (await batch.heartbeat()) continue;
        // The group waits for us to join it anew, but only as long as it hears of us.
        await beating(batch, writing);
        return;
      }
    },
    skipped({ first, end }) {
      // A fetch from before a seek may start later than `next`.
      if (paused !== undefined || isClosed() || first > next.offset || end <= next.offset) return;
      const to = { ...next, offset: end };
      next = to;
      writing = writing.then((isWritten) => isWritten && write(work.prepare([]), to));
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
  if (error instanceof FencedError) return undefined;
  return error instanceof UnavailableError ? "outage" : "error";
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
