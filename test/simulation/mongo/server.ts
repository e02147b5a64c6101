/**
 * A simulated MongoDB: a replica set whose primary has snapshot transactions, unique indexes and sessions, and replicates its
 * commits, or a standalone server without transactions.
 */
import { MongoServerError } from "mongodb";

import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import {
  noMatch,
  type Change,
  type MongoServer,
  type ServerObserver,
  type ServerOptions,
  type Statement,
  type StatementResult,
  type TransactionId,
  type WriteCommand,
  type WriteResult,
} from "./commands.ts";
import { copy, project } from "./documents.ts";
import { createError, createNoTransaction, createNotPrimaryError } from "./errors.ts";
import { createRecordAccess, LockedError, readFrom, type State, type Transaction } from "./records.ts";

const transactionLifetimeMs = 60_000;
const writeTimeoutMs = 10_000;
/** What waits for a lock or for replication looks again at the latest after this time. */
const pollMs = 1_000;

export function createMongoServer(
  { clock, random, host }: { readonly clock: Clock; readonly random: Random; readonly host: Host },
  options: ServerOptions,
): MongoServer {
  const { isReplicaSet, dialect, canKillSessions } = options;
  const records = createRecordAccess(dialect);
  let state: State = new Map();
  let last = 0;
  let majority = 0;
  let term = 0;
  let upAt = 0;
  let stalledUntil = 0;
  /** States by commit, from the last one that a majority has. */
  let states = new Map<number, State>([[0, state]]);
  const sessions = new Map<
    string,
    { number: number; transaction: Transaction | undefined; committed: number | undefined }
  >();
  const retried = new Map<string, { readonly result: WriteResult; readonly commit: number }>();
  let waiting: ((value: undefined) => void)[] = [];
  let observer: ServerObserver = {
    onCommit: () => undefined,
    onRead: () => undefined,
    onRollback: () => undefined,
  };

  const isUp = (): boolean => clock.getTime() >= upAt;

  function requireUp(): void {
    if (!isUp()) throw createNotPrimaryError();
  }

  function begin(client: Host, id: TransactionId | undefined): Transaction {
    return {
      client,
      id,
      snapshot: last,
      startedAt: clock.getTime(),
      state,
      before: new Map(),
      locks: new Set(),
    };
  }

  function end(session: { transaction: Transaction | undefined }): void {
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
    for (const { collection, key } of transaction.before.values()) {
      const written = new Map(readFrom(next, collection));
      const before = written.get(key);
      const after = readFrom(transaction.state, collection).get(key);
      if (after === undefined) written.delete(key);
      else written.set(key, after);
      next = new Map(next).set(collection, written);
      changes.push({ collection, before, after });
    }
    if (changes.length > 0) last += 1;
    records.release(transaction, last);
    changed();
    if (changes.length === 0) return last;
    state = next;
    states.set(last, state);
    replicate(last);
    observer.onCommit({ number: last, client: transaction.client, changes });
    return last;
  }

  function replicate(commit: number): void {
    if (!isReplicaSet) {
      majority = commit;
      return;
    }
    const inTerm = term;
    const delayMs = Math.max(0, stalledUntil - clock.getTime()) + random.next() * 3;
    clock.schedule(host, delayMs, () => {
      if (term !== inTerm || commit <= majority) return;
      for (let old = majority; old < commit; old += 1) states.delete(old);
      majority = commit;
      changed();
    });
  }

  /** Waits until a majority has a commit. Throws when it is lost, or does not get there in time. */
  async function replicated(commit: number): Promise<void> {
    const inTerm = term;
    const deadline = clock.getTime() + writeTimeoutMs;
    while (majority < commit) {
      await change();
      if (term !== inTerm)
        throw createError(11602, "operation was interrupted by a change of the primary", [
          "RetryableWriteError",
        ]);
      if (clock.getTime() > deadline) throw createError(64, "waiting for replication timed out");
    }
  }

  /** Waits until a lock is released, or a majority has more commits. */
  async function change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    waiting.push(resolve);
    const cancel = clock.schedule(host, pollMs, () => {
      resolve(undefined);
    });
    await promise;
    cancel();
  }

  function changed(): void {
    const resolvers = waiting;
    waiting = [];
    for (const resolve of resolvers)
      clock.schedule(host, 0, () => {
        resolve(undefined);
      });
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
    const inTerm = term;
    for (;;) {
      if (term !== inTerm || !isUp()) throw createNotPrimaryError();
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
      await change();
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

  return {
    host,
    options,
    createIndex(collection, name, fields, unique) {
      if (unique) records.createIndex(collection, name, fields);
    },

    find({ client, collection, filter, projection, transaction }) {
      requireUp();
      const source =
        transaction === undefined ? begin(client, undefined) : findTransaction(client, transaction);
      const found = records.select(source, collection, filter).map(([, record]) => record);
      observer.onRead({ client, collection, filter, found });
      return found.map((record) => copy(projection === undefined ? record : project(record, projection)));
    },

    async write(command) {
      requireUp();
      if (command.transaction !== undefined) return writeInTransaction(command, command.transaction);
      const known = command.retryId === undefined ? undefined : retried.get(command.retryId);
      if (known !== undefined) {
        await replicated(known.commit);
        return known.result;
      }
      const result = await writeOutside(command);
      const commit = last;
      if (command.retryId !== undefined) retried.set(command.retryId, { result, commit });
      await replicated(commit);
      return result;
    },

    async commit(id) {
      requireUp();
      expireTransactions();
      const session = sessions.get(id.session);
      if (session?.number !== id.number) throw createNoTransaction();
      if (session.transaction !== undefined) {
        session.committed = apply(session.transaction);
        session.transaction = undefined;
      } else if (session.committed === undefined) throw createNoTransaction();
      await replicated(session.committed);
    },

    abort(id) {
      requireUp();
      const session = sessions.get(id.session);
      if (session?.number === id.number) end(session);
    },

    killSessions(ids) {
      requireUp();
      if (!canKillSessions) throw createError(13, "not authorized on admin to execute command killSessions");
      for (const id of ids) {
        const session = sessions.get(id);
        if (session !== undefined) end(session);
      }
    },

    isUp,
    getTerm: () => term,

    elect(downMs, losesUnreplicated) {
      if (!isReplicaSet) {
        upAt = clock.getTime() + downMs;
        term += 1;
        return;
      }
      term += 1;
      upAt = clock.getTime() + downMs;
      for (const session of sessions.values()) end(session);
      records.releaseAll();
      const kept = losesUnreplicated ? random.between(majority, last + 1) : last;
      if (kept < last) {
        state = states.get(kept) ?? state;
        for (const [id, { commit }] of retried) if (commit > kept) retried.delete(id);
        for (const session of sessions.values())
          if ((session.committed ?? 0) > kept) session.committed = undefined;
        observer.onRollback(kept);
      }
      // Numbers are not used twice.
      states = new Map([[last, state]]);
      majority = last;
      changed();
    },

    stallReplication(ms) {
      stalledUntil = clock.getTime() + ms;
    },

    readAll: (collection) => [...readFrom(state, collection).values()],
    getMajority: () => majority,
    getLastCommit: () => last,
    observe(given) {
      observer = given;
    },
  };
}
