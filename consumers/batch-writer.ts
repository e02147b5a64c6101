import { invariant } from "../src/lib/invariant.ts";
import { elapsed } from "../src/lib/platform.ts";
import { isAtOrAfter, type ClaimedPosition, type Position } from "../src/sync/positions.ts";
import { createBatchLimit, type PreparedBatch } from "./batch.ts";
import { createReporter, type Reporter } from "./batch-reporter.ts";
import { toPauseCause, type FailedWrite, type ReaderOptions } from "./reader-types.ts";

const defaultRecordsPerWrite = 2_000;

/** What the reader does after a write. */
export interface WriteResults {
  readonly onStored: () => void;
  readonly onFailed: (error: unknown) => void;
}

/**
 * Writes the batches of a partition one after the other, and reports those that are stored.
 *
 * Invariants:
 * - At most one write is in progress. `writing` never rejects; it resolves to the write if that failed.
 * - `stored` is the position that the last claim or write found or left in the store, and every write steps
 *   from it.
 * - Every stored batch is reported once, in order: after the next write has started, but before the writer is
 *   closed.
 */
export class BatchWriter<Prepared extends PreparedBatch, Outcome> {
  readonly #options: ReaderOptions<Prepared, Outcome>;
  readonly #results: WriteResults;
  readonly #limit: ReturnType<typeof createBatchLimit>;
  readonly #reporter: Reporter<Prepared, Outcome>;
  #stored: Position | undefined;
  #writing: Promise<FailedWrite<Prepared, Outcome> | undefined>;
  #isWriting = false;
  /** A failed write that may have been stored, until the next claim. */
  #unconfirmed: FailedWrite<Prepared, Outcome> | undefined;

  constructor(options: ReaderOptions<Prepared, Outcome>, results: WriteResults) {
    const { handler, log, previousClosed } = options;
    this.#options = options;
    this.#results = results;
    this.#limit = createBatchLimit(handler.maxRecordsPerWrite ?? defaultRecordsPerWrite);
    this.#reporter = createReporter(handler, log, results.onFailed);
    this.#writing = previousClosed.then(() => undefined);
  }

  get stored(): Position | undefined {
    return this.#stored;
  }

  get writing(): Promise<FailedWrite<Prepared, Outcome> | undefined> {
    return this.#writing;
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** How many records the next batch may have. */
  get maxRecords(): number {
    return this.#limit.get();
  }

  /** Starts a write, after the last one has succeeded. */
  start(prepared: Prepared, to: Position): void {
    this.#writing = this.#write(prepared, to);
  }

  /** Waits for the write in progress, which the next claim confirms if it failed. */
  async settle(): Promise<void> {
    this.#unconfirmed = await this.#writing;
  }

  /** Reports the failed write if the claimed position shows that it was stored nevertheless. */
  confirm(claimed: ClaimedPosition | undefined): void {
    const write = this.#unconfirmed;
    this.#unconfirmed = undefined;
    if (write === undefined || claimed?.isOurs !== true) return;
    if (claimed.offset === write.to.offset && claimed.epoch === write.to.epoch)
      this.#reporter.report(write.prepared, write.outcome, 0);
  }

  setStored(claimed: Position | undefined): void {
    this.#stored = claimed;
  }

  /** Begins again after a claim. */
  restart(): void {
    this.#writing = Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    await this.#writing.then(() => this.#reporter.whenReported());
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
      this.#limit.handleFailure(elapsed() - startedAt, toPauseCause(error) === undefined);
      this.#results.onFailed(error);
      return { prepared, outcome, to };
    } finally {
      this.#isWriting = false;
    }
    const tookMs = elapsed() - startedAt;
    this.#limit.adjust(tookMs);
    this.#stored = to;
    this.#results.onStored();
    this.#reporter.report(prepared, outcome, tookMs);
    member.commit(partition, to.offset);
    return undefined;
  }
}
