/**
 * Gathers concurrent writes into few batches; a batch in flight is the timer for the next one
 * (docs/decisions/005-group-commit.md).
 *
 * Invariant: a write is never in flight together with a write that it conflicts with, and conflicting writes
 * leave in the order in which they were submitted. Invariant: while a write waits, a batch is in flight or a
 * flush is scheduled, so no write waits forever.
 */
import { OverloadedError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { elapsed, scheduleSoon, type Cancel } from "@topicsync/lib/platform";
import { InFlightWrites } from "./in-flight-writes.ts";
import { unfinished, type InstallationStore, type InstallationWrite } from "./stores.ts";

interface GroupCommitLimits {
  readonly writesPerBatch: number;
  /** Characters of all tokens in a batch. */
  readonly charactersPerBatch: number;
  readonly batchesInFlight: number;
  /** Writes beyond these limits are rejected. */
  readonly waitingWrites: number;
  readonly waitingCharacters: number;
}

export interface GroupCommitOptions {
  readonly limits?: Partial<GroupCommitLimits>;
  /** Called for each batch once the store has responded, also after a failure. */
  readonly onWritten?: (batch: { readonly writes: number; readonly tookMs: number }) => void;
}

const defaultLimits: GroupCommitLimits = {
  writesPerBatch: 500,
  charactersPerBatch: 1024 * 1024,
  batchesInFlight: 4,
  waitingWrites: 10_000,
  waitingCharacters: 16 * 1024 * 1024,
};

/** While a batch is in flight, a smaller one is not worth its fixed cost: that of a dozen writes. */
const minSecondBatchSize = 16;

/**
 * - `open`: a submitted write flushes as soon as enough writes wait (see `getFlushThreshold`);
 * - `scheduled`: as `open`, and what waits at the end of this turn of the event loop is flushed;
 * - `blocked`: every waiting write conflicts with one in flight, so flushing is pointless until a batch
 *   returns.
 */
type State =
  | { readonly name: "open" }
  | { readonly name: "scheduled"; readonly cancel: Cancel }
  | { readonly name: "blocked" };

interface Entry {
  readonly write: InstallationWrite;
  readonly characters: number;
  readonly done: PromiseWithResolvers<undefined>;
}

export class GroupCommit {
  readonly #store: InstallationStore;
  readonly #limits: GroupCommitLimits;
  readonly #onWritten: NonNullable<GroupCommitOptions["onWritten"]>;
  readonly #inFlight = new InFlightWrites();
  #state: State = { name: "open" };
  #waiting: Entry[] = [];
  #waitingCharacters = 0;
  #batchesInFlight = 0;
  /**
   * Decays slowly, so that a small batch among large ones, of writes that had to wait for others, does not
   * count.
   */
  #recentBatchSize = 1;

  constructor(
    store: InstallationStore,
    { limits = {}, onWritten = () => undefined }: GroupCommitOptions = {},
  ) {
    this.#store = store;
    this.#limits = { ...defaultLimits, ...limits };
    this.#onWritten = onWritten;
  }

  /**
   * Resolves when the write is acknowledged with the configured write concern. Writes of the same tokens take
   * effect in the order in which they were submitted. Throws OverloadedError when too many writes are
   * waiting, and UnavailableError.
   */
  readonly submit = (write: InstallationWrite): Promise<void> => {
    const characters = countCharacters(write);
    const isFull =
      this.#waiting.length >= this.#limits.waitingWrites ||
      this.#waitingCharacters + characters > this.#limits.waitingCharacters;
    if (isFull)
      return Promise.reject(
        new OverloadedError(`${this.#waiting.length} registrations and removals are waiting`),
      );
    const done = Promise.withResolvers<undefined>();
    this.#waiting.push({ write, characters, done });
    this.#waitingCharacters += characters;
    this.#run(() => {
      this.#schedule();
    });
    return done.promise;
  };

  /** The number of writes that wait for a batch, and that are in flight. */
  readonly getStatus = (): { readonly waiting: number; readonly writing: number } => ({
    waiting: this.#waiting.length,
    writing: this.#inFlight.size,
  });

  /**
   * Runs a step. If that breaks an invariant, its batch and all writes that wait fail, since their order is
   * not certain.
   */
  #run(step: () => void, batch: readonly Entry[] = []): void {
    try {
      step();
    } catch (error) {
      for (const { done } of [...batch, ...this.#waiting]) done.reject(error);
      this.#waiting = [];
      this.#waitingCharacters = 0;
      if (this.#state.name === "scheduled") this.#state.cancel();
      this.#state = { name: "open" };
    }
  }

  readonly #flushSoon = (): void => {
    this.#run(() => {
      this.#flush();
    });
  };

  #schedule(): void {
    if (this.#waiting.length === 0) return;
    const canFlush = this.#state.name !== "blocked" && this.#batchesInFlight < this.#limits.batchesInFlight;
    if (canFlush && this.#waiting.length >= this.#getFlushThreshold()) this.#flush();
    else if (this.#batchesInFlight === 0 && this.#state.name === "open")
      this.#state = { name: "scheduled", cancel: scheduleSoon(this.#flushSoon) };
    invariant(
      this.#waiting.length === 0 || this.#batchesInFlight > 0 || this.#state.name === "scheduled",
      "a write waits only for a batch in flight or a scheduled flush",
    );
  }

  /**
   * The number of waiting writes that are flushed without waiting for the end of the turn. The first batch
   * leaves at the recent size, so a lone write after lone writes does not wait. The second leaves at the size
   * of the first, so that the store has work while responses are sent and requests are read. Further ones
   * leave only when full, so a slow store gets larger batches instead of more.
   */
  #getFlushThreshold(): number {
    if (this.#batchesInFlight === 0) return this.#recentBatchSize;
    return this.#batchesInFlight === 1
      ? Math.max(this.#inFlight.size, minSecondBatchSize)
      : this.#limits.writesPerBatch;
  }

  #flush(): void {
    if (this.#state.name === "scheduled") this.#state.cancel();
    const batch = this.#takeBatch();
    invariant(batch.length > 0 || this.#batchesInFlight > 0, "writes are blocked only by a batch in flight");
    this.#state = { name: batch.length === 0 ? "blocked" : "open" };
    if (batch.length === 0) return;
    this.#recentBatchSize = Math.max(batch.length, Math.floor(this.#recentBatchSize / 2));
    void this.#send(batch);
    this.#schedule();
  }

  /**
   * Removes the next writes that conflict neither with writes in flight nor with earlier ones that keep
   * waiting.
   */
  #takeBatch(): Entry[] {
    const batch: Entry[] = [];
    const skipped: Entry[] = [];
    const skippedWrites = new InFlightWrites();
    let characters = 0;
    let end = 0;
    for (const entry of this.#waiting) {
      const isFull =
        batch.length === this.#limits.writesPerBatch ||
        (batch.length > 0 && characters + entry.characters > this.#limits.charactersPerBatch);
      if (isFull) break;
      end += 1;
      if (this.#inFlight.hasConflict(entry.write) || skippedWrites.hasConflict(entry.write)) {
        skippedWrites.add(entry.write);
        skipped.push(entry);
        continue;
      }
      this.#inFlight.add(entry.write);
      characters += entry.characters;
      batch.push(entry);
    }
    this.#waiting = skipped.concat(this.#waiting.slice(end));
    this.#waitingCharacters -= characters;
    return batch;
  }

  async #send(batch: readonly Entry[]): Promise<void> {
    this.#batchesInFlight += 1;
    const startedAt = elapsed();
    const getError = await this.#writeToStore(batch.map((entry) => entry.write));
    const tookMs = elapsed() - startedAt;
    this.#batchesInFlight -= 1;
    this.#run(() => {
      this.#settle(batch, getError);
      this.#schedule();
    }, batch);
    this.#onWritten({ writes: batch.length, tookMs });
  }

  #settle(batch: readonly Entry[], getError: (index: number) => unknown): void {
    const repeated: Entry[] = [];
    for (const [i, entry] of batch.entries()) {
      this.#inFlight.remove(entry.write);
      const error = getError(i);
      if (error === undefined) entry.done.resolve(undefined);
      else if (error === unfinished) repeated.push(entry);
      else entry.done.reject(error);
    }
    // Before all others, so that no later write of the user overtakes a removal.
    this.#waiting = repeated.concat(this.#waiting);
    for (const { characters } of repeated) this.#waitingCharacters += characters;
    if (this.#state.name === "blocked") this.#state = { name: "open" };
  }

  /** Returns the error of each write by its index. */
  async #writeToStore(writes: readonly InstallationWrite[]): Promise<(index: number) => unknown> {
    try {
      const errors = await this.#store.write(writes);
      return (index) => errors[index];
    } catch (error) {
      return () => error;
    }
  }
}

function countCharacters(write: InstallationWrite): number {
  if (write.kind === "remove") return write.token?.length ?? 0;
  const { key, previousToken, attributes } = write;
  const tokens = key.token.length + (previousToken?.length ?? 0);
  return attributes === undefined ? tokens : tokens + Object.entries(attributes).flat().join("").length;
}
