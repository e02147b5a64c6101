/**
 * Gathers concurrent writes into few batches; a batch in flight is the timer for the next one (docs/decisions/005-group-commit.md).
 *
 * Invariant: a write is never in flight together with a write that it conflicts with, and conflicting writes leave in the order
 * in which they were submitted.
 * Invariant: while a write waits, a batch is in flight or a flush is scheduled, so no write waits forever.
 */
import { OverloadedError } from "../lib/errors.ts";
import { elapsed, scheduleSoon, type Cancel } from "../lib/platform.ts";
import { createInFlightWrites } from "./in-flight-writes.ts";
import { unfinished, type InstallationStore, type InstallationWrite } from "./stores.ts";

export interface GroupCommit {
  /**
   * Resolves when the write is acknowledged with the configured write concern. Writes of the same tokens take effect in the order
   * in which they were submitted. Throws OverloadedError when too many writes are waiting, and UnavailableError.
   */
  readonly submit: (write: InstallationWrite) => Promise<void>;
  /** The number of writes that wait for a batch, and that are in flight. */
  readonly getStatus: () => { readonly waiting: number; readonly writing: number };
}

export interface GroupCommitLimits {
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

/** A smaller batch is not worth sending beside another: its fixed cost is that of a dozen writes. */
const minSecondBatchSize = 16;

/**
 * - `open`: a submitted write flushes as soon as enough writes wait (see `getFlushThreshold`);
 * - `scheduled`: as `open`, and what waits at the end of this turn of the event loop is flushed;
 * - `blocked`: every waiting write conflicts with one in flight, so flushing is pointless until a batch returns.
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

export function createGroupCommit(
  store: InstallationStore,
  { limits: given = {}, onWritten = () => undefined }: GroupCommitOptions = {},
): GroupCommit {
  const limits = { ...defaultLimits, ...given };
  let state: State = { name: "open" };
  let waiting: Entry[] = [];
  let waitingCharacters = 0;
  let batchesInFlight = 0;
  /** Decays slowly, so that a small batch among large ones, of writes that had to wait for others, does not count. */
  let recentBatchSize = 1;
  const inFlight = createInFlightWrites();

  function schedule(): void {
    if (waiting.length === 0 || state.name === "blocked" || batchesInFlight >= limits.batchesInFlight) return;
    if (waiting.length >= getFlushThreshold()) flush();
    else if (batchesInFlight === 0 && state.name === "open")
      state = { name: "scheduled", cancel: scheduleSoon(flush) };
  }

  /**
   * The number of waiting writes that are flushed without waiting for the end of the turn. The first batch leaves at the recent size,
   * so a lone write after lone writes does not wait. The second leaves at the size of the first, so that the store has work
   * while responses are sent and requests are read. Further ones leave only when full, so a slow store gets larger batches
   * instead of more.
   */
  function getFlushThreshold(): number {
    if (batchesInFlight === 0) return recentBatchSize;
    return batchesInFlight === 1 ? Math.max(inFlight.getSize(), minSecondBatchSize) : limits.writesPerBatch;
  }

  function flush(): void {
    if (state.name === "scheduled") state.cancel();
    const batch = takeBatch();
    state = { name: batch.length === 0 ? "blocked" : "open" };
    if (batch.length === 0) return;
    recentBatchSize = Math.max(batch.length, Math.floor(recentBatchSize / 2));
    void send(batch);
    schedule();
  }

  /** Removes the next writes that conflict neither with writes in flight nor with earlier ones that keep waiting. */
  function takeBatch(): Entry[] {
    const batch: Entry[] = [];
    const skipped: Entry[] = [];
    const skippedWrites = createInFlightWrites();
    let characters = 0;
    let end = 0;
    for (const entry of waiting) {
      const isFull =
        batch.length === limits.writesPerBatch ||
        (batch.length > 0 && characters + entry.characters > limits.charactersPerBatch);
      if (isFull) break;
      end += 1;
      if (inFlight.hasConflict(entry.write) || skippedWrites.hasConflict(entry.write)) {
        skippedWrites.add(entry.write);
        skipped.push(entry);
        continue;
      }
      inFlight.add(entry.write);
      characters += entry.characters;
      batch.push(entry);
    }
    waiting = skipped.concat(waiting.slice(end));
    waitingCharacters -= characters;
    return batch;
  }

  async function send(batch: readonly Entry[]): Promise<void> {
    batchesInFlight += 1;
    const startedAt = elapsed();
    const getError = await writeToStore(batch.map((entry) => entry.write));
    const tookMs = elapsed() - startedAt;
    batchesInFlight -= 1;
    const repeated: Entry[] = [];
    for (const [i, entry] of batch.entries()) {
      inFlight.remove(entry.write);
      const error = getError(i);
      if (error === undefined) entry.done.resolve(undefined);
      else if (error === unfinished) repeated.push(entry);
      else entry.done.reject(error);
    }
    // Before all others, so that no later write of the user overtakes a removal.
    waiting = repeated.concat(waiting);
    for (const { characters } of repeated) waitingCharacters += characters;
    if (state.name === "blocked") state = { name: "open" };
    schedule();
    onWritten({ writes: batch.length, tookMs });
  }

  /** Returns the error of each write by its index. */
  async function writeToStore(writes: readonly InstallationWrite[]): Promise<(index: number) => unknown> {
    try {
      const errors = await store.write(writes);
      return (index) => errors[index];
    } catch (error) {
      return () => error;
    }
  }

  return {
    submit(write) {
      const characters = countCharacters(write);
      const isFull =
        waiting.length >= limits.waitingWrites || waitingCharacters + characters > limits.waitingCharacters;
      if (isFull)
        return Promise.reject(
          new OverloadedError(`${waiting.length} registrations and removals are waiting`),
        );
      const done = Promise.withResolvers<undefined>();
      waiting.push({ write, characters, done });
      waitingCharacters += characters;
      schedule();
      return done.promise;
    },
    getStatus: () => ({ waiting: waiting.length, writing: inFlight.getSize() }),
  };
}

const countCharacters = (write: InstallationWrite): number =>
  write.kind === "register"
    ? write.key.token.length + (write.previousToken?.length ?? 0)
    : (write.token?.length ?? 0);
