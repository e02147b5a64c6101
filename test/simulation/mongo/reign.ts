/** A primary of a simulated MongoDB from its election on, with snapshot transactions, unique indexes and sessions. */
import { MongoServerError } from "mongodb";

import type { Clock, Host } from "../clock.ts";
import { ConnectionLostError } from "../network.ts";
import {
  noMatch,
  type Change,
  type Commit,
  type FindCommand,
  type Read,
  type ServerOptions,
  type Statement,
  type StatementResult,
  type StreamBatch,
  type StreamChange,
  type TransactionId,
  type WriteCommand,
  type WriteResult,
} from "./commands.ts";
import { copy, project, type Document } from "./documents.ts";
import { createError, createNoTransaction, createNotPrimaryError } from "./errors.ts";
import {
  createRecordAccess,
  LockedError,
  readFrom,
  type State,
  type Transaction,
  type UniqueIndex,
} from "./records.ts";

export type Reign = ReturnType<typeof createReign>;

interface ServerSession {
  number: number;
  transaction: Transaction | undefined;
  committed: number | undefined;
}

interface Retried {
  readonly result: WriteResult;
  readonly commit: number;
}

/** What a primary hands over to the next one. */
interface Inheritance {
  readonly states: ReadonlyMap<number, State>;
  readonly sessions: ReadonlyMap<string, ServerSession>;
  readonly retried: ReadonlyMap<string, Retried>;
}

export interface Deposition {
  /** Until then it answers as if it were the primary. */
  readonly servesUntil: number;
  /** Otherwise its connections are lost. */
  readonly isAlive: boolean;
  /** When it follows the present primary, and its cursors return changes again. */
  readonly followsAgainAt: number;
  /** Whether it has commits that are lost. */
  readonly rollsBack: boolean;
}

/** What happens to change streams. */
export interface StreamFaults {
  failUntil: number;
  /** Of the error. */
  code: number;
  /** Until then they report nothing. */
  lagUntil: number;
}

export interface ReignOptions {
  readonly clock: Clock;
  readonly host: Host;
  readonly options: ServerOptions;
  readonly indexes: Map<string, UniqueIndex[]>;
  readonly streams: Readonly<StreamFaults>;
  readonly term: number;
  readonly upAt: number;
  readonly former: { readonly handOver: (kept: number) => Inheritance } | undefined;
  /** The last commit that it takes over. */
  readonly kept: number;
  readonly change: (maxMs: number) => Promise<void>;
  readonly changed: () => void;
  readonly countCommit: () => number;
  readonly getMajority: () => number;
  /** The commits of the present primary. */
  readonly getHistory: () => readonly Commit[];
  readonly onRead: (read: Read) => void;
  readonly onCommit: (commit: Commit) => void;
  /** Throws a passing error around an election. */
  readonly requireSettled: () => void;
}

const transactionLifetimeMs = 60_000;
const writeTimeoutMs = 10_000;
/** What waits for a lock or for replication looks again at the latest after this time. */
const pollMs = 1_000;
/** How long a change stream without changes waits before it responds. */
const maxAwaitMs = 1_000;

export function createReign(world: ReignOptions) {
  const { clock, options, streams, term, upAt, change, changed, countCommit, getMajority } = world;
  const { isReplicaSet, dialect, canKillSessions } = options;
  const inherited = world.former?.handOver(world.kept);
  const records = createRecordAccess(dialect, world.indexes);
  const states = new Map<number, State>(inherited?.states ?? [[0, new Map() as State]]);
  const sessions = new Map(inherited?.sessions);
  const retried = new Map(inherited?.retried);
  let last = world.kept;
  let state: State = states.get(last) ?? new Map();
  let deposition: Deposition | undefined;

  const isUp = (): boolean =>
    clock.getTime() >= upAt && (deposition === undefined || clock.getTime() < deposition.servesUntil);

  function requireUp(): void {
    if (deposition?.isAlive === false) throw new ConnectionLostError("connection lost");
    if (!isUp()) throw createNotPrimaryError();
    world.requireSettled();
  }

  function requireStreams(): void {
    if (clock.getTime() <= streams.failUntil) throw createError(streams.code, "no change streams");
  }

  const begin = (client: Host, id: TransactionId | undefined): Transaction => ({
    ...{ client, id, snapshot: last, startedAt: clock.getTime(), state },
    written: new Map(),
    locks: new Set(),
  });

  function end(session: ServerSession): void {
    if (session.transaction === undefined) return;
    records.release(session.transaction);
    session.transaction = undefined;
    changed();
  }

  function expireTransactions(): void {
    for (const session of sessions.values())
      if (session.transaction && clock.getTime() - session.transaction.startedAt > transactionLifetimeMs)
        end(session);
  }

  /** Returns the number of the commit. */
  function apply(transaction: Transaction): number {
    const changes: Change[] = [];
    let next = state;
    for (const { collection, key, isReplaced } of transaction.written.values()) {
      const written = new Map(readFrom(next, collection));
      const before = written.get(key);
      const after = readFrom(transaction.state, collection).get(key);
      if (after === undefined) written.delete(key);
      else written.set(key, after);
      next = new Map(next).set(collection, written);
      changes.push({ collection, key, isReplaced, before, after });
    }
    if (changes.length > 0) last = countCommit();
    records.release(transaction, last);
    changed();
    if (changes.length === 0) return last;
    state = next;
    states.set(last, state);
    world.onCommit({ number: last, client: transaction.client, changes });
    return last;
  }

  /** As with "updateLookup": the record of an update is the one that a majority has by now. */
  function toStreamChange({ collection, key, before, after, isReplaced }: Change): readonly StreamChange[] {
    if (after === undefined) return [];
    if (before === undefined || isReplaced)
      return [{ operationType: before === undefined ? "insert" : "replace", fullDocument: copy(after) }];
    const later = world
      .getHistory()
      .filter(({ number }) => number <= getMajority())
      .flatMap((commit) => commit.changes)
      .findLast((one) => one.collection === collection && one.key === key);
    return [{ operationType: "update", fullDocument: later?.after === undefined ? null : copy(later.after) }];
  }

  /** Waits until a majority has a commit. Throws when it may be lost, or does not get there in time. */
  async function replicated(commit: number): Promise<void> {
    const deadline = clock.getTime() + writeTimeoutMs;
    for (;;) {
      // A former primary does not learn what a majority has.
      if (deposition === undefined && getMajority() >= commit) return;
      if (!isUp())
        throw createError(11602, "operation was interrupted by a change of the primary", [
          "RetryableWriteError",
        ]);
      if (clock.getTime() > deadline) throw createError(64, "waiting for replication timed out");
      await change(pollMs);
    }
  }

  function findTransaction(client: Host, id: TransactionId): Transaction {
    if (!isReplicaSet)
      throw createError(20, "Transaction numbers are only allowed on a replica set member or mongos");
    expireTransactions();
    const session = sessions.get(id.session) ?? { number: 0, transaction: undefined, committed: undefined };
    sessions.set(id.session, session);
    if (id.number < session.number) throw createNoTransaction();
    if (id.number > session.number) {
      if (!id.isFirst) throw createNoTransaction();
      end(session);
      session.number = id.number;
      session.committed = undefined;
      session.transaction = begin(client, id);
    }
    if (session.transaction === undefined) throw createNoTransaction();
    return session.transaction;
  }

  /** The first error ends the transaction. A duplicate is an error of its statement, others are of the command. */
  function writeInTransaction(command: WriteCommand, id: TransactionId): WriteResult {
    const transaction = findTransaction(command.client, id);
    const results: StatementResult[] = [];
    try {
      for (const one of command.statements)
        results.push(records.execute(transaction, command.collection, one));
      return { results, errors: [] };
    } catch (error) {
      const session = sessions.get(id.session);
      if (session !== undefined) end(session);
      if (!(error instanceof MongoServerError) || error.code !== 11000) throw error;
      return { results, errors: [{ index: results.length, error }] };
    }
  }

  /** Executes a statement by itself, once nothing holds its records. */
  async function writeAlone(
    command: WriteCommand,
    statement: Statement,
    deadline: number,
  ): Promise<StatementResult> {
    for (;;) {
      if (!isUp()) throw createNotPrimaryError();
      expireTransactions();
      const transaction = begin(command.client, undefined);
      try {
        const result = records.execute(transaction, command.collection, statement);
        apply(transaction);
        return result;
      } catch (error) {
        records.release(transaction);
        if (!(error instanceof LockedError)) throw error;
      }
      if (clock.getTime() > deadline) throw createError(50, "operation exceeded time limit");
      await change(pollMs);
    }
  }

  async function writeOutside(command: WriteCommand): Promise<WriteResult> {
    const results: StatementResult[] = [];
    const errors: { index: number; error: MongoServerError }[] = [];
    const deadline = clock.getTime() + (command.maxTimeMs ?? Infinity);
    for (const [index, statement] of command.statements.entries()) {
      if (index === command.statementsUntilCrash) throw createNotPrimaryError();
      try {
        results.push(await writeAlone(command, statement, deadline));
      } catch (error) {
        if (!(error instanceof MongoServerError) || error.code !== 11000) throw error;
        errors.push({ index, error });
        results.push(noMatch);
        if (command.ordered) break;
      }
    }
    return { results, errors };
  }

  /** MongoDB adds the label only when a majority has the state in which the transaction is missing. */
  async function throwNoTransaction(): Promise<never> {
    const isLasting = await replicated(last).then(
      () => true,
      () => false,
    );
    throw createNoTransaction(isLasting);
  }

  return {
    term,
    isUp,
    getLastCommit: () => last,
    /** The commits to whose states an election may return. */
    listCommits: (): readonly number[] => [...states.keys()],
    readAll: (collection: string): readonly Document[] => [...readFrom(state, collection).values()],

    createIndex(collection: string, name: string, fields: readonly string[], unique: boolean): void {
      requireUp();
      if (unique) records.createIndex(collection, name, fields);
    },

    find({ client, collection, filter, projection, transaction }: FindCommand): readonly Document[] {
      requireUp();
      const source =
        transaction === undefined ? begin(client, undefined) : findTransaction(client, transaction);
      const found = records.select(source, collection, filter).map(([, record]) => record);
      world.onRead({ client, collection, filter, found });
      return found.map((record) => copy(projection === undefined ? record : project(record, projection)));
    },

    async write(command: WriteCommand): Promise<WriteResult> {
      requireUp();
      if (command.transaction !== undefined) return writeInTransaction(command, command.transaction);
      const known = command.retryId === undefined ? undefined : retried.get(command.retryId);
      if (known !== undefined) {
        if (command.awaitsMajority) await replicated(known.commit);
        return known.result;
      }
      const result = await writeOutside(command);
      const commit = last;
      if (command.retryId !== undefined) retried.set(command.retryId, { result, commit });
      if (command.awaitsMajority) await replicated(commit);
      return result;
    },

    async commit(id: TransactionId, awaitsMajority: boolean): Promise<void> {
      requireUp();
      expireTransactions();
      const session = sessions.get(id.session);
      if (session?.number !== id.number) return throwNoTransaction();
      if (session.transaction !== undefined) {
        session.committed = apply(session.transaction);
        session.transaction = undefined;
      } else if (session.committed === undefined) return throwNoTransaction();
      if (awaitsMajority) await replicated(session.committed);
    },

    abort(id: TransactionId): void {
      requireUp();
      const session = sessions.get(id.session);
      if (session?.number === id.number) end(session);
    },

    killSessions(ids: readonly string[]): void {
      requireUp();
      if (!canKillSessions) throw createError(13, "not authorized on admin to execute command killSessions");
      for (const id of ids) {
        const session = sessions.get(id);
        if (session !== undefined) end(session);
      }
    },

    /** A change stream begins after everything that this member has. */
    openStream(): number {
      requireUp();
      if (!isReplicaSet)
        throw createError(40573, "The $changeStream stage is only supported on replica sets");
      requireStreams();
      return last;
    },

    /** Returns what a majority has of the changes after a commit; nothing after a while without any. */
    async readStream(collection: string, after: number): Promise<StreamBatch> {
      const deadline = clock.getTime() + maxAwaitMs;
      for (;;) {
        if (deposition?.isAlive === false || clock.getTime() < upAt)
          throw new ConnectionLostError("connection lost");
        requireStreams();
        const isBehind = clock.getTime() < Math.max(streams.lagUntil, deposition?.followsAgainAt ?? 0);
        if (deposition?.rollsBack === true && !isBehind)
          throw createError(175, "operation was killed by a rollback");
        const commits = isBehind
          ? []
          : world.getHistory().filter(({ number }) => number > after && number <= getMajority());
        const changes = commits.flatMap((commit) =>
          commit.changes.filter((one) => one.collection === collection).flatMap(toStreamChange),
        );
        if (changes.length > 0 || clock.getTime() >= deadline)
          return { changes, after: commits.at(-1)?.number ?? after };
        await change(maxAwaitMs);
      }
    },

    depose(given: Deposition): void {
      deposition = given;
      if (given.servesUntil <= clock.getTime()) {
        for (const session of sessions.values()) end(session);
        records.releaseAll();
      }
      clock.schedule(world.host, given.servesUntil - clock.getTime(), changed);
    },

    /** The first commit of a primary: with it, a majority has everything before. */
    commitNothing(): void {
      last = countCommit();
      states.set(last, state);
      world.onCommit({ number: last, client: world.host, changes: [] });
    },

    /** Forgets the states that no election returns to. */
    forgetBefore(commit: number): void {
      for (const number of states.keys()) if (number < commit) states.delete(number);
    },

    handOver(kept: number): Inheritance {
      return {
        states: new Map([...states].filter(([number]) => number <= kept)),
        sessions: new Map(
          [...sessions].map(([id, { number, committed }]) => [
            id,
            {
              number,
              transaction: undefined,
              committed: (committed ?? Infinity) > kept ? undefined : committed,
            },
          ]),
        ),
        retried: new Map([...retried].filter(([, { commit }]) => commit <= kept)),
      };
    },
  };
}
