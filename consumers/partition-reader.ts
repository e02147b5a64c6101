import { getErrorMessage, UnavailableError } from "../src/lib/errors.ts";
import type { Logger } from "../src/lib/logger.ts";
import { elapsed, scheduleSoon, sleep } from "../src/lib/platform.ts";
import { FencedError, type ClaimedPosition, type Position } from "../src/sync/positions.ts";
import type { GroupMember, LogWatch, Partition, RecordBatch } from "../src/sync/records.ts";
import { createBatchLimit, takeBatch, whileBeating, type BatchHandler, type PreparedBatch } from "./batch.ts";
import { createLogExaminer, type Suspect } from "./log-examiner.ts";
import { advance } from "./start-position.ts";

export type PauseCause = "outage" | "error";

export interface PartitionStatus extends Partition {
  readonly state: "reading" | "paused";
  /** Undefined while it is read. */
  readonly reason: string | undefined;
  /** The failure that paused it: an outage of a service, or an unexpected error. Undefined when nothing failed. */
  readonly cause: PauseCause | undefined;
  /** The offset of the next record to apply; undefined before it was looked up, or when there is none. */
  readonly offset: number | undefined;
}

/** Reads one partition from its stored position on, for as long as it is assigned. */
export interface PartitionReader {
  /** Never throws. */
  batch(batch: RecordBatch): Promise<void>;
  /** A fetch from `first` up to `end` delivered nothing. */
  skipped(range: { readonly first: number; readonly end: number }): void;
  status(): PartitionStatus;
  /** Starts nothing more and waits for the write in progress. */
  close(): Promise<void>;
}

export interface ReaderOptions<Prepared extends PreparedBatch> {
  readonly partition: Partition;
  readonly member: GroupMember;
  readonly watch: LogWatch;
  readonly handler: BatchHandler<Prepared>;
  readonly log: Logger;
  /** Resolves when this process has no other reader of the partition that may still write. */
  readonly previousClosed: Promise<void>;
  /** Called when the reader cannot continue by itself: a bug. */
  readonly onFailed: (error: unknown) => void;
}

const defaultRecordsPerWrite = 2_000;
const firstRetryDelayMs = 250;
/** Short, because the failed call has already waited for its own timeout. */
const maxRetryDelayMs = 1_000;
const idleCheckIntervalMs = 60_000;

/**
 * What the reader does with its partition:
 * - `paused`: nothing is fetched; the stored position is looked up until that succeeds;
 * - `reading`: records from `next` on are prepared and written;
 * - `examining`: records before `next` are fetched once more, since they may belong to a new epoch (log-examiner.ts).
 */
type State =
  | { readonly kind: "paused"; readonly reason: string; readonly cause: PauseCause | undefined }
  | { readonly kind: "reading" }
  | { readonly kind: "examining"; readonly newerFrom: number };

/** A write that failed. It may have been stored nevertheless: only the response to its commit was lost. */
interface FailedWrite<Prepared> {
  readonly prepared: Prepared;
  readonly to: Position;
}

/**
 * Creates a reader, which starts at once by looking up its position. While a batch is being written, the next is fetched
 * and prepared, unless the end of the log was reached.
 *
 * Invariants:
 * - At most one write is in progress. `writing` never rejects; it resolves to the write if that failed.
 * - `stored` is the position that the last claim or write found or left in the store, and every write steps from it.
 *   `next` is the position after the write in progress, and the next record to apply.
 * - Every failure leads to `paused`, and only a new claim leads out of it. An outage rejects nothing and skips nothing.
 * - Every stored batch is reported once, in order: after the next write has started, but before the reader is closed.
 * - Once closed, or once a batch is no longer current, nothing is written and nothing is sought: another reader may
 *   already have the partition.
 */
export function createPartitionReader<Prepared extends PreparedBatch>(
  options: ReaderOptions<Prepared>,
): PartitionReader {
  const { partition, member, watch, handler, onFailed } = options;
  const log = options.log.child({ partition: `${partition.topic}-${partition.partition}` });
  const limit = createBatchLimit(handler.maxRecordsPerWrite ?? defaultRecordsPerWrite);
  const examiner = createLogExaminer({ partition, watch, log });
  const closing = new AbortController();
  let state: State = { kind: "paused", reason: "the position is being looked up", cause: undefined };
  let stored: Position | undefined;
  let next: Position = { offset: 0, epoch: 1 };
  let writing: Promise<FailedWrite<Prepared> | undefined> = options.previousClosed.then(() => undefined);
  /** Resolves when every stored batch is reported. */
  let reporting: Promise<void> = Promise.resolve();
  /** Writes and look-ups that failed since the last successful write: each makes the next delay longer. */
  let failures = 0;
  let fetches = 0;
  /** Fetches that were reported since the last seek. The first of them may have been requested before it. */
  let fetchesSinceSeek = 0;
  let sought = 0;

  const isClosed = (): boolean => closing.signal.aborted;
  const isPaused = (): boolean => state.kind === "paused";
  const isExamining = (): boolean => state.kind === "examining";

  function pause(reason: string, cause?: PauseCause): void {
    const wasPaused = isPaused();
    state = { kind: "paused", reason, cause };
    if (!wasPaused && !isClosed()) startPositioning();
  }

  function startPositioning(): void {
    position().catch((error: unknown) => {
      log.error({ err: error }, "positioning failed");
      onFailed(error);
    });
  }

  /** Leads from `paused` to `reading` or `examining`. */
  async function position(): Promise<void> {
    member.pause(partition);
    const pausedAt = elapsed();
    let unconfirmed = await writing;
    for (;;) {
      await waitAfterFailure();
      if (isClosed()) return;
      try {
        const claimed = await handler.claim();
        const failedWrite = unconfirmed;
        unconfirmed = undefined;
        confirmWrite(failedWrite, claimed);
        const start = await examiner.start(claimed, stored);
        if (isClosed()) return;
        stored = claimed;
        next = start.position;
        writing = Promise.resolve(undefined);
        const { fetchFrom: from, newerFrom } = start;
        state = from < next.offset ? { kind: "examining", newerFrom } : { kind: "reading" };
        seek(from);
        member.resume(partition);
        log.info({ offset: next.offset, pausedMs: Math.round(elapsed() - pausedAt) }, "partition resumed");
        return;
      } catch (error) {
        failures += 1;
        const cause = toPauseCause(error);
        state = { kind: "paused", reason: getErrorMessage(error), cause };
        if (cause === "error") log.error({ err: error }, "partition paused by an unexpected error");
        else log.warn({ reason: state.reason }, "partition paused");
      }
    }
  }

  async function waitAfterFailure(): Promise<void> {
    if (failures === 0) return;
    const delayMs = Math.min(firstRetryDelayMs * 2 ** (failures - 1), maxRetryDelayMs);
    await sleep(delayMs, closing.signal);
  }

  /** Reports a failed write that was stored nevertheless. */
  function confirmWrite(
    write: FailedWrite<Prepared> | undefined,
    claimed: ClaimedPosition | undefined,
  ): void {
    if (write === undefined || claimed?.isOurs !== true) return;
    if (claimed.offset === write.to.offset && claimed.epoch === write.to.epoch) report(write.prepared, 0);
  }

  /** Reporting takes up to a tenth as long as a write, and the store need not wait for it. */
  function report(prepared: Prepared, tookMs: number): void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    reporting = promise;
    scheduleSoon(() => {
      try {
        handler.report(prepared, tookMs);
      } catch (error) {
        log.error({ err: error }, "batch stored, but not reported");
      }
      resolve(undefined);
    });
  }

  /** Never throws. Returns the write if it failed. */
  async function write(prepared: Prepared, to: Position): Promise<FailedWrite<Prepared> | undefined> {
    const startedAt = elapsed();
    try {
      await handler.write(prepared, { from: stored, to });
    } catch (error) {
      handleWriteFailure(error, elapsed() - startedAt);
      return { prepared, to };
    }
    const tookMs = elapsed() - startedAt;
    failures = 0;
    limit.adjust(tookMs);
    stored = to;
    report(prepared, tookMs);
    member.commit(partition, to.offset);
    return undefined;
  }

  function handleWriteFailure(error: unknown, tookMs: number): void {
    failures += 1;
    const cause = toPauseCause(error);
    limit.handleFailure(tookMs, cause === undefined);
    if (cause === undefined)
      log.warn({ reason: getErrorMessage(error) }, "position moved by another consumer, looking it up again");
    else if (cause === "error") log.error({ err: error }, "batch failed with an unexpected error, retrying");
    else log.warn({ err: error }, "batch write failed, retrying");
    pause(getErrorMessage(error), cause);
  }

  /** "unknown" when Kafka does not respond. */
  async function awaitSuspect(
    finding: Promise<Suspect | undefined>,
  ): Promise<Suspect | "unknown" | undefined> {
    try {
      return await finding;
    } catch (error) {
      failures += 1;
      log.warn({ reason: getErrorMessage(error) }, "log look-up failed");
      return "unknown";
    }
  }

  /** A new log that ends at `next` delivers nothing, so it is looked for while nothing arrives. */
  async function checkWhileIdle(): Promise<void> {
    while (!isClosed()) {
      const [at, fetchesBefore] = [next, fetches];
      const isIdle = (): boolean => !isClosed() && !isPaused() && next === at && fetches === fetchesBefore;
      await sleep(idleCheckIntervalMs, closing.signal);
      // What was examined then may have been another log.
      const suspect = isIdle() ? await awaitSuspect(examiner.findSuspectAnew(at)) : undefined;
      if (suspect !== undefined && suspect !== "unknown" && isIdle()) startExamination(suspect);
    }
  }

  function startExamination({ from, newerFrom }: Suspect): void {
    state = { kind: "examining", newerFrom };
    seek(from);
  }

  function seek(offset: number): void {
    sought = offset;
    fetchesSinceSeek = 0;
    member.seek(partition, offset);
  }

  function countFetch(): void {
    fetches += 1;
    fetchesSinceSeek += 1;
  }

  /** Moves the position over offsets at which nothing is delivered: aborted records and markers. */
  function moveOver(end: number): void {
    const to = { ...next, offset: end };
    next = to;
    writing = writing.then((failedWrite) =>
      failedWrite !== undefined || isClosed() ? failedWrite : write(handler.prepare([], to.epoch), to),
    );
  }

  /** At once when the position is reached: what is fetched later may be of another log. */
  function endExamination(fetchedTo: number): void {
    if (state.kind !== "examining" || fetchedTo < next.offset) return;
    examiner.complete(next, state.newerFrom);
    state = { kind: "reading" };
  }

  startPositioning();
  checkWhileIdle().catch(onFailed);

  return {
    async batch(batch) {
      countFetch();
      const [first] = batch.records;
      if (first === undefined || isPaused() || !batch.isCurrent()) return;
      if (first.offset < next.offset && !isExamining()) {
        // kafkajs moved back by itself: the requested offset lies outside the log.
        pause("the stored offset is out of range");
        return;
      }
      if (examiner.provesNewLog(batch.records, next)) {
        pause("the log is a new one");
        return;
      }
      endExamination(batch.end);
      const unapplied =
        first.offset < next.offset
          ? batch.records.filter(({ offset }) => offset >= next.offset)
          : batch.records;
      if (unapplied.length === 0) {
        if (batch.end > next.offset) moveOver(batch.end);
        batch.advance(batch.end - 1);
        await batch.heartbeat();
        return;
      }
      // A recreated log that has outgrown the position shows no other sign. The query runs while the last write is still
      // in progress, and ends before anything of this batch is written.
      const suspect = awaitSuspect(examiner.findSuspect(next));
      for (let rest = unapplied; rest.length > 0;) {
        if (isClosed() || !batch.isCurrent()) return;
        const prepared = handler.prepare(takeBatch(rest, limit.get()), next.epoch);
        const { records } = prepared;
        rest = rest.slice(records.length);
        if ((await whileBeating(batch, writing)) !== undefined) return;
        const suspicious = await whileBeating(batch, suspect);
        if (isClosed() || isPaused() || !batch.isCurrent()) return;
        if (suspicious === "unknown") {
          pause("the log could not be looked up", "outage");
          return;
        }
        if (suspicious !== undefined) {
          startExamination(suspicious);
          return;
        }
        const end = rest[0] === undefined ? batch.end : (records.at(-1)?.offset ?? next.offset) + 1;
        next = advance(next, records, end);
        writing = write(prepared, next);
        batch.advance(end - 1);
        if (await batch.heartbeat()) continue;
        // The group is rebalancing, and waits for this member only as long as it receives heartbeats.
        await whileBeating(batch, writing);
        return;
      }
      // There is nothing to prepare meanwhile. Records that arrive now are in the next batch then, and not in the one after it.
      if (batch.isAtEnd) await whileBeating(batch, writing);
    },

    skipped({ first, end }) {
      countFetch();
      if (isPaused() || isClosed() || end < next.offset) return;
      if (first > sought && fetchesSinceSeek === 1) {
        // Either compaction removed the records between, or the fetch is from before the seek. The next one is not.
        member.seek(partition, sought);
        return;
      }
      endExamination(end);
      if (end > next.offset) moveOver(end);
    },

    status: () => ({
      ...partition,
      state: state.kind === "paused" ? "paused" : "reading",
      reason: state.kind === "paused" ? state.reason : undefined,
      cause: state.kind === "paused" ? state.cause : undefined,
      offset: stored?.offset,
    }),

    async close() {
      closing.abort();
      // Otherwise a member that stops would fetch the same records again and again until the last write ends.
      member.pause(partition);
      await writing.then(() => reporting);
      await handler.close?.();
    },
  };
}

/** Undefined when another consumer moved the position: nothing failed then. */
function toPauseCause(error: unknown): PauseCause | undefined {
  if (error instanceof FencedError) return undefined;
  return error instanceof UnavailableError ? "outage" : "error";
}
