import {
  ConfigurationError,
  getErrorMessage,
  KafkaUnavailableError,
  UnavailableError,
} from "@topicsync/lib/errors";
import { invariant, InvariantError } from "@topicsync/lib/invariant";
import type { Logger } from "@topicsync/lib/logger";
import { elapsed, sleep } from "@topicsync/lib/platform";
import {
  isSamePosition,
  type Position,
  type LogRecord,
  type PartitionLog,
  type RecordBatch,
} from "@topicsync/kafka";
import { OtherClusterError, requireSameCluster } from "./clusters.ts";
import type { PauseCause, ReaderStatus } from "./partition-status.ts";
import { takeBatch, whileBeating, type PreparedBatch } from "./batch.ts";
import { BatchWriter } from "./batch-writer.ts";
import { logFailedClaim, logFailedWrite, toState } from "./reader-reports.ts";
import { outsideGroup, toPauseCause, type Mode, type ReaderOptions, type Reading } from "./reader-types.ts";
import { getRetryDelayMs } from "./retry-delay.ts";
import {
  findStart,
  identifyLog,
  isReplaced,
  isStoredAtOnce,
  logStart,
  requireSameTopic,
  warnAboutLongAbsence,
  type Start,
} from "./start-position.ts";

const idleCheckIntervalMs = 20_000;

/**
 * Reads one partition from its stored position on, for as long as it is assigned. While a batch is being
 * written, the next is fetched and prepared, unless the end of the log was reached.
 *
 * Invariants:
 * - A batch is applied only if it was fetched at the next position, from the log of that position, after the
 *   last claim.
 * - Every failure leads to `paused`, and only a new claim leads out of it. An outage rejects nothing and
 *   skips nothing.
 * - An InvariantError leads to `stopped`, and nothing leads out of it.
 * - Once closed or stopped, or once a batch is no longer current, nothing is written and nothing is sought:
 *   another reader may already have the partition.
 */
export class PartitionReader<Prepared extends PreparedBatch = PreparedBatch, Outcome = unknown> {
  readonly #options: ReaderOptions<Prepared, Outcome>;
  readonly #log: Logger;
  readonly #writer: BatchWriter<Prepared, Outcome>;
  readonly #closing = new AbortController();
  #mode: Mode = { kind: "paused", reason: "the position is being looked up", cause: undefined };
  /** Writes and look-ups that failed since the last successful write: each makes the next delay longer. */
  #failures = 0;
  #wasFenced = false;
  /** The position belongs to another cluster, where another process may be reading. */
  #isElsewhere = false;
  #hasStarted = false;
  /** Why Kafka denies the member a right. The next assignment creates another reader. */
  #denial: Error | undefined;

  /** Starts at once by looking up the position. */
  constructor(options: ReaderOptions<Prepared, Outcome>) {
    const { partition, log } = options;
    this.#options = options;
    this.#log = log.child({ partition: `${partition.topic}-${partition.partition}` });
    this.#writer = new BatchWriter(
      { ...options, log: this.#log },
      {
        onStored: () => {
          this.#failures = 0;
        },
        onFailed: (error) => {
          this.#handleWriteFailure(error);
        },
      },
    );
    this.#startPositioning();
    this.#checkWhileIdle().catch(options.onFailed);
  }

  status(): ReaderStatus {
    const { partition, member } = this.#options;
    const offset = this.#writer.stored?.offset;
    return { ...partition, ...toState(this.#mode, member.isInGroup()), offset };
  }

  /** Starts nothing more and waits for the write in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    // Otherwise a member that stops would fetch the same records again and again until the last write ends.
    this.#options.member.pause(this.#options.partition);
    await this.#writer.close();
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
    if (batch.failure !== undefined) {
      this.#handleFailedFetch(batch.failure);
      return;
    }
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
    if (batch.isAtEnd) await whileBeating(batch, this.#writer.writing);
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
      takeBatch(unapplied, this.#writer.maxRecords),
      reading.next.epoch,
    );
    if ((await whileBeating(batch, this.#writer.writing)) !== undefined) return undefined;
    if (!this.#isCurrent(reading, batch)) return undefined;
    invariant(
      first === undefined || prepared.records.length > 0,
      "a batch with records has at least the first of them",
    );
    const rest = unapplied.slice(prepared.records.length);
    const end = rest[0] === undefined ? batch.end : (prepared.records.at(-1)?.offset ?? -1) + 1;
    reading.next = { ...reading.next, offset: end };
    this.#writer.start(prepared, reading.next);
    batch.advance(end - 1);
    if (await batch.heartbeat()) return rest;
    // The group is rebalancing, and waits for this member only as long as it receives heartbeats.
    await whileBeating(batch, this.#writer.writing);
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
    await this.#writer.settle();
    for (;;) {
      await this.#waitAfterFailure();
      if (this.#hasEnded()) return;
      try {
        const { start, topicId } = await this.#claim();
        if (this.#hasEnded()) return;
        const next = start.position;
        this.#writer.restart();
        this.#mode = { kind: "reading", topicId, next };
        member.seek(partition, next.offset);
        member.resume(partition);
        const pausedMs = Math.round(elapsed() - pausedAt);
        this.#log.info({ offset: next.offset, pausedMs }, "partition resumed");
        if (isStoredAtOnce(start, this.#writer.stored))
          this.#writer.start(this.#options.handler.prepare([], next.epoch), next);
        return;
      } catch (error) {
        if (error instanceof InvariantError) {
          this.#stop(error);
          return;
        }
        // Later, it waits until the right is granted again.
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
    this.#mode = { kind: "paused", reason: getErrorMessage(error), cause: toPauseCause(error) };
    logFailedClaim(error, this.#isElsewhere, this.#log);
    this.#isElsewhere ||= error instanceof OtherClusterError;
  }

  /** Nothing arrives from a new log that ends at the position, or after the position was moved back. */
  async #checkWhileIdle(): Promise<void> {
    const { watch, partition, handler } = this.#options;
    const writer = this.#writer;
    while (!this.#hasEnded()) {
      const reading = this.#mode;
      const next = reading.kind === "reading" ? reading.next : undefined;
      const isIdle = (): boolean =>
        !this.#hasEnded() && this.#mode === reading && reading.kind === "reading" && reading.next === next;
      await sleep(idleCheckIntervalMs, this.#closing.signal);
      if (!isIdle() || reading.kind !== "reading") continue;
      const found = await Promise.all([watch.fetchLog(partition.partition), handler.findPosition()]).catch(
        (error: unknown) => {
          if (error instanceof InvariantError) this.#stop(error);
          // Nobody fetches from a partition without a leader.
          else if (error instanceof KafkaUnavailableError && isIdle()) this.#handleFailedFetch(error);
        },
      );
      if (found === undefined || !isIdle()) continue;
      const [log, position] = found;
      if (isReplaced(reading, log)) this.#pause("the log is a new one");
      // One that is lost is no decision of a person.
      else if (position !== undefined && !writer.isWriting && !isSamePosition(position, writer.stored))
        this.#pause("the position was set by another process");
    }
  }

  async #waitAfterFailure(): Promise<void> {
    if (this.#failures === 0) return;
    const after = this.#isElsewhere ? "other-cluster" : this.#wasFenced ? "fence" : "failure";
    await sleep(getRetryDelayMs(this.#failures, after), this.#closing.signal);
  }

  /** Takes the partition over and finds where to start. Throws UnavailableError. */
  async #claim(): Promise<{ readonly start: Start; readonly topicId: string | undefined }> {
    const { member, partition, handler, watch, logs } = this.#options;
    // A claim would disturb the process that reads the other cluster.
    if (this.#isElsewhere)
      await this.#requireCluster(await handler.findPosition(), await watch.fetchLog(partition.partition));
    // A process that the group has given up would fence the owner again and again.
    if (!member.isInGroup()) throw this.#denial ?? new UnavailableError(outsideGroup);
    invariant(!this.#writer.isWriting, "a partition is not claimed while a batch is being written");
    const claimed = await handler.claim();
    this.#writer.confirm(claimed);
    const log = await watch.fetchLog(partition.partition);
    await this.#requireCluster(claimed, log);
    await requireSameTopic(claimed, handler);
    this.#isElsewhere = false;
    const epoch = await identifyLog(partition, claimed, log, { watch, logs });
    // Only at the start: later, a position is old because nothing was announced.
    if (!this.#hasStarted) await warnAboutLongAbsence(claimed, log, { watch, log: this.#log });
    const start = findStart(claimed, log, epoch);
    logStart(start, { claimed, bounds: log, log: this.#log });
    this.#hasStarted = true;
    this.#writer.setStored(claimed);
    return { start, topicId: log.topicId };
  }

  /** Throws OtherClusterError. */
  #requireCluster(stored: Position | undefined, log: PartitionLog): Promise<void> {
    const { partition, handler, logs, consumer } = this.#options;
    const compared = { partition, stored, log, isInKafka: handler.keepsPositionInKafka === true };
    return requireSameCluster(compared, { logs, consumer });
  }

  #handleFailedFetch(error: Error): void {
    this.#failures += 1;
    this.#wasFenced = false;
    this.#log.warn({ reason: getErrorMessage(error) }, "fetch failed, retrying");
    this.#pause(getErrorMessage(error), toPauseCause(error));
  }

  #handleWriteFailure(error: unknown): void {
    if (error instanceof InvariantError) {
      this.#stop(error);
      return;
    }
    this.#failures += 1;
    const cause = toPauseCause(error);
    this.#wasFenced = cause === undefined;
    logFailedWrite(error, this.#log);
    this.#pause(getErrorMessage(error), cause);
  }
}
