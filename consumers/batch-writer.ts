import { invariant, InvariantError } from "@topicsync/lib/invariant";
import { elapsed, scheduleSoon } from "@topicsync/lib/platform";
import { isAtOrAfter, type ClaimedPosition, type Position } from "@topicsync/kafka";
import { createBatchLimit, type PreparedBatch } from "./batch.ts";
import { toPauseCause, type FailedWrite, type ReaderOptions } from "./reader-types.ts";

const defaultRecordsPerWrite = 2_000;

/** What the reader does after a write. */
interface WriteResults {
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
  #stored: Position | undefined;
  #writing: Promise<FailedWrite<Prepared, Outcome> | undefined>;
  #isWriting = false;
  #reporting: Promise<void> = Promise.resolve();
  /** A failed write that may have been stored, until the next claim. */
  #unconfirmed: FailedWrite<Prepared, Outcome> | undefined;

  constructor(options: ReaderOptions<Prepared, Outcome>, results: WriteResults) {
    const { handler, previousClosed } = options;
    this.#options = options;
    this.#results = results;
    this.#limit = createBatchLimit(handler.maxRecordsPerWrite ?? defaultRecordsPerWrite);
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
      this.#report(write.prepared, write.outcome, 0);
  }

  setStored(claimed: Position | undefined): void {
    this.#stored = claimed;
  }

  /** Begins again after a claim. */
  restart(): void {
    this.#writing = Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    await this.#writing.then(() => this.#reporting);
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
    this.#limit.adjust(tookMs, prepared.records.length);
    this.#stored = to;
    this.#results.onStored();
    this.#report(prepared, outcome, tookMs);
    member.commit(partition, to.offset);
    return undefined;
  }
  /**
   * Lets the next write start first: reporting takes up to a tenth as long as a write, and the store need not
   * wait for it. Never throws.
   */
  #report(prepared: Prepared, outcome: Outcome | undefined, tookMs: number): void {
    const { handler, log } = this.#options;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#reporting = promise;
    scheduleSoon(() => {
      try {
        handler.report(prepared, outcome, tookMs);
      } catch (error) {
        log.error({ err: error }, "batch stored, but not reported");
        if (error instanceof InvariantError) this.#results.onFailed(error);
      }
      resolve(undefined);
    });
  }
}
