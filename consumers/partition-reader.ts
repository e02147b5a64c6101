import { ConfigurationError, getErrorMessage, UnavailableError } from "../src/lib/errors.ts";
import { invariant, InvariantError } from "../src/lib/invariant.ts";
import type { Logger } from "../src/lib/logger.ts";
import { elapsed, sleep } from "../src/lib/platform.ts";
import { OtherClusterError, requireSameCluster } from "../src/sync/clusters.ts";
import type { PauseCause, ReaderStatus } from "../src/sync/partition-status.ts";
import { isAtOrAfter, type ClaimedPosition, type Position } from "../src/sync/positions.ts";
import type { LogRecord, PartitionLog, RecordBatch } from "../src/sync/records.ts";
import { createBatchLimit, takeBatch, whileBeating, type PreparedBatch } from "./batch.ts";
import { createReporter, type Reporter } from "./batch-reporter.ts";
import {
  toPauseCause,
  type FailedWrite,
  type Mode,
  type ReaderOptions,
  type Reading,
} from "./reader-types.ts";
import {
  findStart,
  identifyLog,
  isStoredAtOnce,
  logStart,
  warnAboutLongAbsence,
  type Start,
} from "./start-position.ts";

const defaultRecordsPerWrite = 2_000;
const firstRetryDelayMs = 250;
/** Short, because the failed call has already waited for its own timeout. */
const maxRetryDelayMs = 1_000;
const idleCheckIntervalMs = 20_000;
/** Longer: each claim fences the other process, which may be the one that the group has chosen. */
const maxDelayAfterFenceMs = 15_000;
/** How soon a position is used that a person sets for the cluster that is there. */
const otherClusterCheckMs = 5_000;

/**
 * Reads one partition from its stored position on, for as long as it is assigned. While a batch is being
 * written, the next is fetched and prepared, unless the end of the log was reached.
 *
 * Invariants:
 * - A batch is applied only if it was fetched at the next position, from the log of that position, after the
 *   last claim.
 * - At most one write is in progress. `#writing` never rejects; it resolves to the write if that failed.
 * - `#stored` is the position that the last claim or write found or left in the store, and every write steps
 *   from it.
 * - Every failure leads to `paused`, and only a new claim leads out of it. An outage rejects nothing and
 *   skips nothing.
 * - An InvariantError leads to `stopped`, and nothing leads out of it.
 * - Every stored batch is reported once, in order: after the next write has started, but before the reader is
 *   closed.
 * - Once closed or stopped, or once a batch is no longer current, nothing is written and nothing is sought:
 *   another reader may already have the partition.
 */
export class PartitionReader<Prepared extends PreparedBatch = PreparedBatch, Outcome = unknown> {
  readonly #options: ReaderOptions<Prepared, Outcome>;
  readonly #log: Logger;
  readonly #limit: ReturnType<typeof createBatchLimit>;
  readonly #closing = new AbortController();
  #mode: Mode = { kind: "paused", reason: "the position is being looked up", cause: undefined };
  #stored: Position | undefined;
  #writing: Promise<FailedWrite<Prepared, Outcome> | undefined>;
  #isWriting = false;
  readonly #reporter: Reporter<Prepared, Outcome>;
  /** Writes and look-ups that failed since the last successful write: each makes the next delay longer. */
  #failures = 0;
  #wasFenced = false;
  /** The position belongs to another Kafka cluster, where another process may be reading. */
  #isElsewhere = false;
  /** A failed write that may have been stored, until the next claim. */
  #unconfirmed: FailedWrite<Prepared, Outcome> | undefined;
  #hasStarted = false;
  /**
   * Why the member left the group, if Kafka denies it a right. The next assignment creates another reader.
   */
  #denial: Error | undefined;

  /** Starts at once by looking up the position. */
  constructor(options: ReaderOptions<Prepared, Outcome>) {
    const { partition, handler, log, previousClosed } = options;
    this.#options = options;
    this.#log = log.child({ partition: `${partition.topic}-${partition.partition}` });
    this.#reporter = createReporter(handler, this.#log, (error) => {
      this.#stop(error);
    });
    this.#limit = createBatchLimit(handler.maxRecordsPerWrite ?? defaultRecordsPerWrite);
    this.#writing = previousClosed.then(() => undefined);
    this.#startPositioning();
    this.#checkWhileIdle().catch(options.onFailed);
  }

  status(): ReaderStatus {
    const state = this.#mode.kind === "reading" ? "reading" : "paused";
    const { reason, cause } = this.#mode.kind === "reading" ? {} : this.#mode;
    return { ...this.#options.partition, state, reason, cause, offset: this.#stored?.offset };
  }

  /** Starts nothing more and waits for the write in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    // Otherwise a member that stops would fetch the same records again and again until the last write ends.
    this.#options.member.pause(this.#options.partition);
    await this.#writing.then(() => this.#reporter.whenReported());
    await this.#options.handler.close?.();
  }

  /** Pauses because Kafka denies the member a right. */
  deny(error: Error): void {
    this.#denial = error;
    this.#pause(getErrorMessage(error), toPauseCause(error));
  }

  /** Never throws. */
  async batch(batch: RecordBatch): Promise<void> {
    try {
      await this.#read(batch);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      this.#stop(error);
    }
  }

  async #read(batch: RecordBatch): Promise<void> {
    const reading = this.#mode;
    if (reading.kind !== "reading" || !this.#isCurrent(reading, batch)) return;
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
    const [first] = unapplied;
    invariant(
      first === undefined || first.offset >= reading.next.offset,
      "a batch starts at the next position",
    );
    const prepared = this.#options.handler.prepare(
      takeBatch(unapplied, this.#limit.get()),
      reading.next.epoch,
    );
    if ((await whileBeating(batch, this.#writing)) !== undefined) return undefined;
    if (!this.#isCurrent(reading, batch)) return undefined;
    invariant(
      first === undefined || prepared.records.length > 0,
      "a batch with records has at least the first of them",
    );
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
    return this.#mode === reading && !this.#hasEnded() && batch.isCurrent();
  }

  #hasEnded(): boolean {
    return this.#closing.signal.aborted || this.#mode.kind === "stopped";
  }

  /** Trying again would not help, and what led here must not be written. */
  #stop(error: InvariantError): void {
    this.#log.error({ err: error }, "partition stopped by a bug");
    const reason = `stopped until the partition is assigned again: ${error.message}`;
    if (!this.#hasEnded()) this.#options.member.pause(this.#options.partition);
    this.#mode = { kind: "stopped", reason, cause: "error" };
  }

  #pause(reason: string, cause?: PauseCause): void {
    if (this.#mode.kind === "stopped") return;
    const wasPaused = this.#mode.kind === "paused";
    this.#mode = { kind: "paused", reason, cause };
    if (!wasPaused && !this.#hasEnded()) this.#startPositioning();
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
      if (this.#hasEnded()) return;
      try {
        const start = await this.#claim();
        if (this.#hasEnded()) return;
        const next = start.position;
        this.#writing = Promise.resolve(undefined);
        this.#mode = { kind: "reading", topicId: next.topicId, next };
        member.seek(partition, next.offset);
        member.resume(partition);
        const pausedMs = Math.round(elapsed() - pausedAt);
        this.#log.info({ offset: next.offset, pausedMs }, "partition resumed");
        if (isStoredAtOnce(start, this.#stored))
          this.#writing = this.#write(this.#options.handler.prepare([], next.epoch), next);
        return;
      } catch (error) {
        if (error instanceof InvariantError) {
          this.#stop(error);
          return;
        }
        // At the start, the process names the missing right, and ends. Later it waits until the right is
        // granted again.
        if (error instanceof ConfigurationError && this.#options.endsOnDenial && !this.#hasStarted) {
          this.#options.onFailed(error);
          return;
        }
        this.#handleFailedClaim(error);
      }
    }
  }

  #handleFailedClaim(error: unknown): void {
    this.#failures += 1;
    const cause = toPauseCause(error);
    const reason = getErrorMessage(error);
    this.#mode = { kind: "paused", reason, cause };
    if (error instanceof OtherClusterError) {
      // A person decides, which may take hours.
      if (!this.#isElsewhere)
        this.#log.error({ reason }, "partition paused: its position belongs to another kafka cluster");
      this.#isElsewhere = true;
    } else if (cause === "error" && !(error instanceof ConfigurationError))
      this.#log.error({ err: error }, "partition paused by an unexpected error");
    else this.#log.warn({ reason }, "partition paused");
  }

  /**
   * Nothing arrives from a new log that ends at the position, or when a person has moved the position back.
   */
  async #checkWhileIdle(): Promise<void> {
    const { watch, partition, handler } = this.#options;
    while (!this.#hasEnded()) {
      const reading = this.#mode;
      const next = reading.kind === "reading" ? reading.next : undefined;
      const isIdle = (): boolean =>
        !this.#hasEnded() && this.#mode === reading && reading.kind === "reading" && reading.next === next;
      await sleep(idleCheckIntervalMs, this.#closing.signal);
      if (!isIdle() || reading.kind !== "reading") continue;
      // An outage pauses the partition when it is next read or written.
      const found = await Promise.all([watch.fetchLog(partition.partition), handler.findPosition()]).catch(
        (error: unknown) => {
          if (error instanceof InvariantError) this.#stop(error);
        },
      );
      if (found === undefined || !isIdle()) continue;
      const [log, position] = found;
      if (isReplaced(reading, log)) this.#pause("the log is a new one");
      // One that is lost is no decision of a person.
      else if (position !== undefined && !this.#isWriting && !isSamePosition(position, this.#stored))
        this.#pause("the position was set by another process");
    }
  }

  async #waitAfterFailure(): Promise<void> {
    if (this.#failures === 0) return;
    const usualDelayMs = this.#wasFenced ? maxDelayAfterFenceMs : maxRetryDelayMs;
    const maxDelayMs = this.#isElsewhere ? otherClusterCheckMs : usualDelayMs;
    const delayMs = Math.min(firstRetryDelayMs * 2 ** (this.#failures - 1), maxDelayMs);
    await sleep(delayMs, this.#closing.signal);
  }

  /** Takes the partition over and finds where to start. Throws UnavailableError. */
  async #claim(): Promise<Start> {
    const { member, partition, handler, watch, logs } = this.#options;
    // A process that the group has given up would fence the owner again and again.
    if (!member.isInGroup())
      throw this.#denial ?? new UnavailableError("this process is not in the consumer group");
    invariant(!this.#isWriting, "a partition is not claimed while a batch is being written");
    // A claim would disturb the process that reads the other cluster.
    if (this.#isElsewhere)
      await this.#requireCluster(await handler.findPosition(), await watch.fetchLog(partition.partition));
    const claimed = await handler.claim();
    this.#confirm(claimed);
    const log = await watch.fetchLog(partition.partition);
    await this.#requireCluster(claimed, log);
    this.#isElsewhere = false;
    const epoch = await identifyLog(partition, claimed, log, { watch, logs });
    // Only at the start: later, a position is old because nothing was announced.
    if (!this.#hasStarted) await warnAboutLongAbsence(claimed, log, { watch, log: this.#log });
    const start = findStart(claimed, log, epoch);
    logStart(start, { claimed, bounds: log, log: this.#log });
    this.#hasStarted = true;
    this.#stored = claimed;
    return start;
  }

  /** Throws OtherClusterError. */
  #requireCluster(stored: Position | undefined, log: PartitionLog): Promise<void> {
    const { partition, handler, logs, consumer } = this.#options;
    const isInKafka = handler.keepsPositionInKafka === true;
    return requireSameCluster({ topic: partition.topic, stored, log, isInKafka }, { logs, consumer });
  }

  /** Reports a failed write that was stored nevertheless. */
  #confirm(claimed: ClaimedPosition | undefined): void {
    const write = this.#unconfirmed;
    this.#unconfirmed = undefined;
    if (write === undefined || claimed?.isOurs !== true) return;
    if (claimed.offset === write.to.offset && claimed.epoch === write.to.epoch)
      this.#reporter.report(write.prepared, write.outcome, 0);
  }

  /** Never throws. Returns the write if it failed. */
  async #write(prepared: Prepared, to: Position): Promise<FailedWrite<Prepared, Outcome> | undefined> {
    const { handler, member, partition } = this.#options;
    const startedAt = elapsed();
    const from = this.#stored;
    let outcome: Outcome | undefined;
    try {
      invariant(!this.#isWriting, "at most one write is in progress");
      invariant(from === undefined || isAtOrAfter(to, from), "a position never moves back within an epoch");
      this.#isWriting = true;
      outcome = await handler.write(prepared, { from, to }, (attempted) => {
        outcome = attempted;
      });
    } catch (error) {
      this.#handleWriteFailure(error, elapsed() - startedAt);
      return { prepared, outcome, to };
    } finally {
      this.#isWriting = false;
    }
    const tookMs = elapsed() - startedAt;
    this.#failures = 0;
    this.#limit.adjust(tookMs);
    this.#stored = to;
    this.#reporter.report(prepared, outcome, tookMs);
    member.commit(partition, to.offset);
    return undefined;
  }

  #handleWriteFailure(error: unknown, tookMs: number): void {
    if (error instanceof InvariantError) {
      this.#stop(error);
      return;
    }
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

/** Without topic ids, a cluster that took the place of another may have as many records. */
const isReplaced = ({ topicId, next }: Reading, log: PartitionLog): boolean =>
  log.topicId !== topicId ||
  log.high < next.offset ||
  (next.clusterId !== undefined && log.clusterId !== null && next.clusterId !== log.clusterId);

const isSamePosition = (one: Position | undefined, other: Position | undefined): boolean =>
  one?.offset === other?.offset && one?.epoch === other?.epoch;
