import { ConfigurationError, getErrorMessage, UnavailableError } from "../src/lib/errors.ts";
import type { Logger } from "../src/lib/logger.ts";
import { elapsed, scheduleSoon, sleep } from "../src/lib/platform.ts";
import type { ClaimedPosition, LogStore, Position } from "../src/sync/positions.ts";
import type { GroupMember, LogRecord, LogWatch, Partition, RecordBatch } from "../src/sync/records.ts";
import { createBatchLimit, takeBatch, whileBeating, type BatchHandler, type PreparedBatch } from "./batch.ts";
import { toPauseCause, type PartitionStatus, type PauseCause } from "./partition-status.ts";
import { findStart, identifyLog, warnAboutLongAbsence, type Start } from "./start-position.ts";

export interface ReaderOptions<Prepared extends PreparedBatch, Outcome> {
  readonly partition: Partition;
  readonly member: GroupMember;
  readonly watch: LogWatch;
  readonly logs: LogStore;
  readonly handler: BatchHandler<Prepared, Outcome>;
  readonly log: Logger;
  /** Resolves when this process has no other reader of the partition that may still write. */
  readonly previousClosed: Promise<void>;
  /** Whether a missing right at the reader's start is a failure. Otherwise it waits until the right is granted. */
  readonly endsOnDenial: boolean;
  /** Called when the reader cannot continue: a missing right at its start, or a bug. */
  readonly onFailed: (error: unknown) => void;
}

const defaultRecordsPerWrite = 2_000;
const firstRetryDelayMs = 250;
/** Short, because the failed call has already waited for its own timeout. */
const maxRetryDelayMs = 1_000;
const idleCheckIntervalMs = 20_000;
/** Longer: each claim fences the other process, which may be the one that the group has chosen. */
const maxDelayAfterFenceMs = 15_000;

/** Nothing is fetched; the stored position is claimed until that succeeds. */
interface Paused {
  readonly kind: "paused";
  readonly reason: string;
  readonly cause: PauseCause | undefined;
}

/** Records are prepared and written. Each claim begins another one: what was fetched during an earlier one is outdated. */
interface Reading {
  readonly kind: "reading";
  /** The topic id that fetched records must have; undefined where brokers cannot fetch by id. */
  readonly topicId: string | undefined;
  /** The position after the write in progress: the next record to apply, and the offset at which the next fetch begins. */
  next: Position;
}

/** A write that failed. It may have been stored nevertheless: only the response to its commit was lost. */
interface FailedWrite<Prepared, Outcome> {
  readonly prepared: Prepared;
  /** The outcome of its last attempt; undefined if that is not known. */
  readonly outcome: Outcome | undefined;
  readonly to: Position;
}

/**
 * Reads one partition from its stored position on, for as long as it is assigned. While a batch is being written, the next is
 * fetched and prepared, unless the end of the log was reached.
 *
 * Invariants:
 * - A batch is applied only if it was fetched at the next position, from the log of that position, after the last claim.
 * - At most one write is in progress. `#writing` never rejects; it resolves to the write if that failed.
 * - `#stored` is the position that the last claim or write found or left in the store, and every write steps from it.
 * - Every failure leads to `paused`, and only a new claim leads out of it. An outage rejects nothing and skips nothing.
 * - Every stored batch is reported once, in order: after the next write has started, but before the reader is closed.
 * - Once closed, or once a batch is no longer current, nothing is written and nothing is sought: another reader may
 *   already have the partition.
 */
export class PartitionReader<Prepared extends PreparedBatch = PreparedBatch, Outcome = unknown> {
  readonly #options: ReaderOptions<Prepared, Outcome>;
  readonly #log: Logger;
  readonly #limit: ReturnType<typeof createBatchLimit>;
  readonly #closing = new AbortController();
  #mode: Paused | Reading = { kind: "paused", reason: "the position is being looked up", cause: undefined };
  #stored: Position | undefined;
  #writing: Promise<FailedWrite<Prepared, Outcome> | undefined>;
  /** Resolves when every stored batch is reported. */
  #reporting: Promise<void> = Promise.resolve();
  /** Writes and look-ups that failed since the last successful write: each makes the next delay longer. */
  #failures = 0;
  #wasFenced = false;
  /** A failed write that may have been stored, until the next claim. */
  #unconfirmed: FailedWrite<Prepared, Outcome> | undefined;
  #hasStarted = false;
  /** Why the member left the group, if Kafka denies it a right. The next assignment creates another reader. */
  #denial: Error | undefined;

  /** Starts at once by looking up the position. */
  constructor(options: ReaderOptions<Prepared, Outcome>) {
    const { partition, handler, log, previousClosed } = options;
    this.#options = options;
    this.#log = log.child({ partition: `${partition.topic}-${partition.partition}` });
    this.#limit = createBatchLimit(handler.maxRecordsPerWrite ?? defaultRecordsPerWrite);
    this.#writing = previousClosed.then(() => undefined);
    this.#startPositioning();
    this.#checkWhileIdle().catch(options.onFailed);
  }

  status(): PartitionStatus {
    const { kind } = this.#mode;
    const { reason, cause } = this.#mode.kind === "paused" ? this.#mode : {};
    return { ...this.#options.partition, state: kind, reason, cause, offset: this.#stored?.offset };
  }

  /** Starts nothing more and waits for the write in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    // Otherwise a member that stops would fetch the same records again and again until the last write ends.
    this.#options.member.pause(this.#options.partition);
    await this.#writing.then(() => this.#reporting);
    await this.#options.handler.close?.();
  }

  /** Pauses because Kafka denies the member a right. */
  deny(error: Error): void {
    this.#denial = error;
    this.#pause(getErrorMessage(error), toPauseCause(error));
  }

  /** Never throws. */
  async batch(batch: RecordBatch): Promise<void> {
    const reading = this.#mode;
    if (reading.kind === "paused" || !this.#isCurrent(reading, batch)) return;
    if (batch.isOutOfRange) {
      this.#pause("the stored offset is out of range");
      return;
    }
    if (batch.topicId !== reading.topicId) {
      this.#pause("the log is a new one");
      return;
    }
    if (batch.fetchedFrom !== reading.next.offset) {
      // Requested before the last seek, which another request of kafkajs may have taken.
      this.#options.member.seek(this.#options.partition, reading.next.offset);
      return;
    }
    // Once, also for a batch without records: the position moves over what is not delivered.
    let rest: readonly LogRecord[] | undefined = batch.records;
    do rest = await this.#apply(reading, batch, rest);
    while (rest !== undefined && rest.length > 0);
    if (rest === undefined) return;
    // At the end of the log there is nothing to prepare during the write.
    if (batch.isAtEnd) await whileBeating(batch, this.#writing);
  }

  /** Starts the write of the first of these records. Returns the others; undefined when they must be left. */
  async #apply(
    reading: Reading,
    batch: RecordBatch,
    unapplied: readonly LogRecord[],
  ): Promise<readonly LogRecord[] | undefined> {
    if (!this.#isCurrent(reading, batch)) return undefined;
    const prepared = this.#options.handler.prepare(
      takeBatch(unapplied, this.#limit.get()),
      reading.next.epoch,
    );
    if ((await whileBeating(batch, this.#writing)) !== undefined) return undefined;
    if (!this.#isCurrent(reading, batch)) return undefined;
    const rest = unapplied.slice(prepared.records.length);
    const end = rest[0] === undefined ? batch.end : (prepared.records.at(-1)?.offset ?? -1) + 1;
    reading.next = { ...reading.next, offset: end };
    this.#writing = this.#write(prepared, reading.next);
    batch.advance(end - 1);
    if (await batch.heartbeat()) return rest;
    // The group is rebalancing, and waits for this member only as long as it receives heartbeats.
    await whileBeating(batch, this.#writing);
    return undefined;
  }

  #isCurrent(reading: Reading, batch: RecordBatch): boolean {
    return this.#mode === reading && !this.#isClosed() && batch.isCurrent();
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #pause(reason: string, cause?: PauseCause): void {
    const wasPaused = this.#mode.kind === "paused";
    this.#mode = { kind: "paused", reason, cause };
    if (!wasPaused && !this.#isClosed()) this.#startPositioning();
  }

  #startPositioning(): void {
    this.#position().catch((error: unknown) => {
      this.#log.error({ err: error }, "positioning failed");
      this.#options.onFailed(error);
    });
  }

  /** Leads from `paused` to `reading`. */
  async #position(): Promise<void> {
    const { member, partition } = this.#options;
    member.pause(partition);
    const pausedAt = elapsed();
    this.#unconfirmed = await this.#writing;
    for (;;) {
      await this.#waitAfterFailure();
      if (this.#isClosed()) return;
      try {
        const { position: next, warning, lost } = await this.#claim();
        if (this.#isClosed()) return;
        this.#writing = Promise.resolve(undefined);
        this.#mode = { kind: "reading", topicId: next.topicId, next };
        member.seek(partition, next.offset);
        member.resume(partition);
        const pausedMs = Math.round(elapsed() - pausedAt);
        this.#log.info({ offset: next.offset, pausedMs }, "partition resumed");
        // At once: when the log has grown to the stored position, nothing shows any more that it was wrong.
        if (warning !== undefined || lost !== undefined)
          this.#writing = this.#write(this.#options.handler.prepare([], next.epoch), next);
        return;
      } catch (error) {
        // At the start, the process names the missing right, and ends. Later it waits until the right is granted again.
        if (error instanceof ConfigurationError && this.#options.endsOnDenial && !this.#hasStarted) {
          this.#options.onFailed(error);
          return;
        }
        this.#failures += 1;
        const cause = toPauseCause(error);
        this.#mode = { kind: "paused", reason: getErrorMessage(error), cause };
        if (cause === "error" && !(error instanceof ConfigurationError))
          this.#log.error({ err: error }, "partition paused by an unexpected error");
        else this.#log.warn({ reason: this.#mode.reason }, "partition paused");
      }
    }
  }

  /** A new log that ends at the position delivers nothing, so it is looked for while nothing arrives. */
  async #checkWhileIdle(): Promise<void> {
    const { watch, partition } = this.#options;
    while (!this.#isClosed()) {
      const reading = this.#mode;
      const next = reading.kind === "reading" ? reading.next : undefined;
      const isIdle = (): boolean =>
        !this.#isClosed() && this.#mode === reading && reading.kind === "reading" && reading.next === next;
      await sleep(idleCheckIntervalMs, this.#closing.signal);
      if (!isIdle() || reading.kind !== "reading") continue;
      // An outage pauses the partition when it is next read or written.
      const log = await watch.fetchLog(partition.partition).catch(() => undefined);
      if (log === undefined || !isIdle()) continue;
      if (log.topicId !== reading.topicId || log.high < reading.next.offset)
        this.#pause("the log is a new one");
    }
  }

  async #waitAfterFailure(): Promise<void> {
    if (this.#failures === 0) return;
    const maxDelayMs = this.#wasFenced ? maxDelayAfterFenceMs : maxRetryDelayMs;
    const delayMs = Math.min(firstRetryDelayMs * 2 ** (this.#failures - 1), maxDelayMs);
    await sleep(delayMs, this.#closing.signal);
  }

  /** Takes the partition over and finds where to start. Throws UnavailableError. */
  async #claim(): Promise<Start> {
    const { member, partition, handler, watch, logs } = this.#options;
    // A process that the group has given up would fence the owner again and again.
    if (!member.isInGroup())
      throw this.#denial ?? new UnavailableError("this process is not in the consumer group");
    const claimed = await handler.claim();
    this.#confirm(claimed);
    const log = await watch.fetchLog(partition.partition);
    const epoch = await identifyLog(partition, claimed, log, { watch, logs });
    // Only at the start: later, a position is old because nothing was announced.
    if (!this.#hasStarted) await warnAboutLongAbsence(claimed, log, { watch, log: this.#log });
    const start = findStart(claimed, log, epoch);
    this.#logStart(start, { position: claimed?.offset, logStart: log.low, logEnd: log.high });
    this.#hasStarted = true;
    this.#stored = claimed;
    return start;
  }

  #logStart({ warning, lost }: Start, details: object): void {
    if (warning !== undefined) this.#log.warn(details, warning);
    if (lost !== undefined)
      this.#log.error(
        { ...details, lostFrom: lost.from, lostTo: lost.to },
        "kafka lost records before the stored offset; reading continues at the end of the log",
      );
  }

  /** Reports a failed write that was stored nevertheless. */
  #confirm(claimed: ClaimedPosition | undefined): void {
    const write = this.#unconfirmed;
    this.#unconfirmed = undefined;
    if (write === undefined || claimed?.isOurs !== true) return;
    if (claimed.offset === write.to.offset && claimed.epoch === write.to.epoch)
      this.#report(write.prepared, write.outcome, 0);
  }

  /** Reporting takes up to a tenth as long as a write, and the store need not wait for it. */
  #report(prepared: Prepared, outcome: Outcome | undefined, tookMs: number): void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#reporting = promise;
    scheduleSoon(() => {
      try {
        this.#options.handler.report(prepared, outcome, tookMs);
      } catch (error) {
        this.#log.error({ err: error }, "batch stored, but not reported");
      }
      resolve(undefined);
    });
  }

  /** Never throws. Returns the write if it failed. */
  async #write(prepared: Prepared, to: Position): Promise<FailedWrite<Prepared, Outcome> | undefined> {
    const { handler, member, partition } = this.#options;
    const startedAt = elapsed();
    let outcome: Outcome | undefined;
    try {
      outcome = await handler.write(prepared, { from: this.#stored, to }, (attempted) => {
        outcome = attempted;
      });
    } catch (error) {
      this.#handleWriteFailure(error, elapsed() - startedAt);
      return { prepared, outcome, to };
    }
    const tookMs = elapsed() - startedAt;
    this.#failures = 0;
    this.#limit.adjust(tookMs);
    this.#stored = to;
    this.#report(prepared, outcome, tookMs);
    member.commit(partition, to.offset);
    return undefined;
  }

  #handleWriteFailure(error: unknown, tookMs: number): void {
    this.#failures += 1;
    const cause = toPauseCause(error);
    this.#wasFenced = cause === undefined;
    this.#limit.handleFailure(tookMs, this.#wasFenced);
    if (cause === undefined)
      this.#log.warn(
        { reason: getErrorMessage(error) },
        "position moved by another consumer, looking it up again",
      );
    else if (cause === "error")
      this.#log.error({ err: error }, "batch failed with an unexpected error, retrying");
    else this.#log.warn({ err: error }, "batch write failed, retrying");
    this.#pause(getErrorMessage(error), cause);
  }
}
