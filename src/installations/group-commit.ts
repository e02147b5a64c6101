import { OverloadedError } from "../lib/errors.ts";
import { createInFlightWrites } from "./in-flight-writes.ts";
import type { InstallationStore, InstallationWrite } from "./stores.ts";

/** Gathers writes that come at once into few bulks. */
export interface GroupCommit {
  /**
   * Resolves when the write is acknowledged with the write concern in force; writes that touch the same tokens take
   * effect in the order in which they were submitted. Throws OverloadedError when too much is waiting, and UnavailableError.
   */
  readonly submit: (write: InstallationWrite) => Promise<void>;
  /** How many writes wait for a bulk, and how many are on their way. */
  readonly status: () => { readonly waiting: number; readonly writing: number };
}

/** Bounds of the group commit. */
export interface GroupCommitLimits {
  /** Writes in one bulk. */
  readonly writes: number;
  /** Characters of the tokens in one bulk. */
  readonly characters: number;
  /** Bulks on their way at once, once there is enough to fill them. */
  readonly bulks: number;
  /** Writes that may wait; beyond them, and beyond as many characters as `waitingCharacters`, everything is refused. */
  readonly waiting: number;
  readonly waitingCharacters: number;
}

export interface GroupCommitOptions {
  readonly limits?: Partial<GroupCommitLimits>;
  /** Told of each bulk when the store has answered, whatever it said. */
  readonly written?: (bulk: { readonly writes: number; readonly tookMs: number }) => void;
}

const defaults: GroupCommitLimits = {
  writes: 500,
  characters: 1024 * 1024,
  bulks: 4,
  waiting: 10_000,
  waitingCharacters: 16 * 1024 * 1024,
};

interface Entry {
  readonly write: InstallationWrite;
  readonly characters: number;
  readonly done: PromiseWithResolvers<undefined>;
}

/** A bulk that leaves beside another has at least so many writes: a small one costs nearly as much. */
const minBeside = 16;

/**
 * Makes the group commit. A bulk leaves as soon as it has as many writes as is usual lately, or else at the end of the turn
 * of the event loop in which its first write came: so a lone write after lone writes waits for nothing. What comes while
 * a bulk is on its way is gathered. A second one leaves beside it when it has become as large, so that the store has work
 * while answers are sent and new requests read; a further one only when it is full, so that a slow store gets larger bulks
 * instead of more.
 */
export function createGroupCommit(
  store: InstallationStore,
  { limits = {}, written = () => undefined }: GroupCommitOptions = {},
): GroupCommit {
  const most = { ...defaults, ...limits };
  let waiting: Entry[] = [];
  let waitingCharacters = 0;
  let bulks = 0;
  let writing = 0;
  let scheduled = false;
  /** How large bulks are lately: a small one among large ones, of writes that had to wait, means nothing. */
  let usual = 1;
  /** Everything waits for something that is on its way. */
  let stuck = false;
  /** What is on its way; nothing that conflicts with it may leave. */
  const claims = createInFlightWrites();

  function schedule(): void {
    if (waiting.length === 0 || stuck || bulks >= most.bulks) return;
    if (waiting.length >= enough()) leave();
    else if (bulks === 0 && !scheduled) {
      scheduled = true;
      setImmediate(leaveAsItIs);
    }
  }

  /** How many must wait for a bulk that leaves before this turn of the event loop ends. */
  function enough(): number {
    if (bulks === 0) return usual;
    return bulks === 1 ? Math.max(writing, minBeside) : most.writes;
  }

  function leaveAsItIs(): void {
    scheduled = false;
    if (bulks === 0) leave();
  }

  function leave(): void {
    const bulk = take();
    stuck = bulk.length === 0 && bulks > 0;
    if (bulk.length === 0) return;
    usual = Math.max(bulk.length, Math.floor(usual / 2));
    void send(bulk);
    schedule();
  }

  /** Takes from the waiting, in their order, what conflicts neither with what is on its way nor with what waits before it. */
  function take(): Entry[] {
    const bulk: Entry[] = [];
    const left: Entry[] = [];
    const before = createInFlightWrites();
    let characters = 0;
    let at = 0;
    for (const entry of waiting) {
      if (bulk.length === most.writes || (bulk.length > 0 && characters + entry.characters > most.characters))
        break;
      at += 1;
      if (claims.conflict(entry.write) || before.conflict(entry.write)) {
        before.add(entry.write);
        left.push(entry);
        continue;
      }
      claims.add(entry.write);
      characters += entry.characters;
      bulk.push(entry);
    }
    waiting = left.concat(waiting.slice(at));
    waitingCharacters -= characters;
    return bulk;
  }

  async function send(bulk: readonly Entry[]): Promise<void> {
    bulks += 1;
    writing += bulk.length;
    const began = performance.now();
    const failures = await outcomeOf(bulk.map(({ write }) => write));
    const tookMs = performance.now() - began;
    bulks -= 1;
    stuck = false;
    writing -= bulk.length;
    for (const [i, { write, done }] of bulk.entries()) {
      claims.remove(write);
      const failure = failures(i);
      if (failure === undefined) done.resolve(undefined);
      else done.reject(failure);
    }
    schedule();
    written({ writes: bulk.length, tookMs });
  }

  async function outcomeOf(writes: readonly InstallationWrite[]): Promise<(index: number) => unknown> {
    try {
      const failures = await store.write(writes);
      return (index) => failures[index];
    } catch (error) {
      return () => error;
    }
  }

  return {
    submit(write) {
      const characters = charactersOf(write);
      if (waiting.length >= most.waiting || waitingCharacters + characters > most.waitingCharacters) {
        return Promise.reject(
          new OverloadedError(`${waiting.length} registrations and removals are waiting`),
        );
      }
      const done = Promise.withResolvers<undefined>();
      waiting.push({ write, characters, done });
      waitingCharacters += characters;
      schedule();
      return done.promise;
    },
    status: () => ({ waiting: waiting.length, writing }),
  };
}

const charactersOf = (write: InstallationWrite): number =>
  write.kind === "register" ? write.key.token.length + (write.previousToken?.length ?? 0) : 0;
