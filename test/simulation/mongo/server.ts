/**
 * A simulated MongoDB: a replica set whose primary has snapshot transactions, unique indexes and sessions, and replicates its
 * commits, or a standalone server without transactions.
 */
import { MongoServerError } from "mongodb";

import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import {
  applyUpdate,
  copy,
  formatValue,
  isEqual,
  getValue,
  matches,
  project,
  toInserted,
} from "./documents.ts";
import type { Document, Filter } from "./documents.ts";

/** How a product words its objection to a duplicate key. */
export type Dialect = "mongodb" | "unnamed-index" | "conflict-in-transaction";

export interface ServerOptions {
  readonly isReplicaSet: boolean;
  readonly dialect: Dialect;
  /** Whether the user may kill sessions. */
  readonly canKillSessions: boolean;
}

export type Statement =
  | { readonly kind: "insert"; readonly document: Document }
  | {
      readonly kind: "update";
      readonly filter: Filter;
      readonly update: Document;
      readonly upsert?: boolean;
      readonly multi?: boolean;
    }
  | { readonly kind: "delete"; readonly filter: Filter; readonly multi?: boolean };

export interface StatementResult {
  readonly matched: number;
  readonly modified: number;
  readonly deleted: number;
  /** The record after the statement, where it is one. */
  readonly document?: Document | undefined;
}

export interface WriteResult {
  readonly results: readonly StatementResult[];
  readonly errors: readonly { readonly index: number; readonly error: MongoServerError }[];
}

/** The transaction that a command belongs to. */
export interface TransactionId {
  readonly session: string;
  readonly number: number;
  /** Whether the command begins it. */
  readonly isFirst: boolean;
}

interface CommandOptions {
  readonly client: Host;
  readonly collection: string;
  readonly transaction?: TransactionId | undefined;
}

export interface WriteCommand extends CommandOptions {
  readonly statements: readonly Statement[];
  readonly ordered: boolean;
  /** Names a retryable write: it is executed once. */
  readonly retryId?: string | undefined;
  readonly maxTimeMs?: number | undefined;
  /** Loses the server half way: the rest is not executed, and there is no response. */
  readonly statementsUntilCrash?: number;
}

interface FindCommand extends CommandOptions {
  readonly filter: Filter;
  readonly projection: Document | undefined;
}

export interface Change {
  readonly collection: string;
  readonly before: Document | undefined;
  readonly after: Document | undefined;
}

export interface Read {
  readonly client: Host;
  readonly collection: string;
  readonly filter: Filter;
  readonly found: readonly Document[];
}

/** What was committed together. */
export interface Commit {
  readonly number: number;
  readonly client: Host;
  readonly changes: readonly Change[];
}

type Records = ReadonlyMap<string, Document>;
type State = ReadonlyMap<string, Records>;

interface Transaction {
  readonly client: Host;
  readonly id: TransactionId | undefined;
  readonly snapshot: number;
  readonly startedAt: number;
  state: State;
  /** By collection and key. */
  readonly before: Map<string, { collection: string; key: string; document: Document | undefined }>;
  readonly locks: Set<string>;
}

interface UniqueIndex {
  readonly name: string;
  readonly fields: readonly string[];
}

export interface MongoServer {
  readonly host: Host;
  readonly options: ServerOptions;
  readonly createIndex: (
    collection: string,
    name: string,
    fields: readonly string[],
    unique: boolean,
  ) => void;
  readonly find: (command: FindCommand) => readonly Document[];
  readonly write: (command: WriteCommand) => Promise<WriteResult>;
  readonly commit: (transaction: TransactionId) => Promise<void>;
  readonly abort: (transaction: TransactionId) => void;
  readonly killSessions: (sessions: readonly string[]) => void;
  /** The number of the election: commands to the primary of an earlier one fail. */
  readonly getTerm: () => number;
  /** Whether there is a primary. */
  readonly isUp: () => boolean;
  /** Loses the primary. What a majority does not have may be lost with it. */
  readonly elect: (downMs: number, losesUnreplicated: boolean) => void;
  /** Keeps commits from a majority for some time. */
  readonly stallReplication: (ms: number) => void;
  readonly readAll: (collection: string) => readonly Document[];
  /** The last commit that a majority has. */
  readonly getMajority: () => number;
  readonly getLastCommit: () => number;
  readonly observe: (observer: ServerObserver) => void;
}

export interface ServerObserver {
  readonly onCommit: (commit: Commit) => void;
  readonly onRead: (read: Read) => void;
  /** Every later commit is lost. */
  readonly onRollback: (lastKept: number) => void;
}

export const noMatch: StatementResult = { matched: 0, modified: 0, deleted: 0 };

const transactionLifetimeMs = 60_000;
const writeTimeoutMs = 10_000;
/** What waits for a lock or for replication looks again at the latest after this time. */
const pollMs = 1_000;

/** A statement outside transactions waits for a transaction that holds its record. */
class LockedError extends Error {}

const createError = (code: number, errmsg: string, errorLabels: readonly string[] = []): MongoServerError =>
  new MongoServerError({ code, errmsg, errorLabels: [...errorLabels] });

export const createNotPrimaryError = (): MongoServerError =>
  createError(10107, "not primary", ["RetryableWriteError"]);

const createConflict = (message: string): MongoServerError =>
  createError(112, message, ["TransientTransactionError"]);

const createNoTransaction = (): MongoServerError =>
  createError(251, "Transaction does not match any in-progress transactions.", ["TransientTransactionError"]);

export function createMongoServer(
  { clock, random, host }: { readonly clock: Clock; readonly random: Random; readonly host: Host },
  options: ServerOptions,
): MongoServer {
  const { isReplicaSet, dialect, canKillSessions } = options;
  const indexes = new Map<string, UniqueIndex[]>();
  let state: State = new Map();
  let last = 0;
  let majority = 0;
  let term = 0;
  let upAt = 0;
  let stalledUntil = 0;
  /** States by commit, from the last one that a majority has. */
  let states = new Map<number, State>([[0, state]]);
  const lastWrites = new Map<string, number>();
  const locks = new Map<string, Transaction>();
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

  const readFrom = (from: State, collection: string): Records =>
    from.get(collection) ?? new Map<string, Document>();

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

  function release(transaction: Transaction): void {
    for (const lock of transaction.locks) locks.delete(lock);
  }

  function end(session: { transaction: Transaction | undefined }): void {
    if (session.transaction === undefined) return;
    release(session.transaction);
    session.transaction = undefined;
    changed();
  }

  function expireTransactions(): void {
    for (const session of sessions.values())
      if (session.transaction && clock.getTime() - session.transaction.startedAt > transactionLifetimeMs)
        end(session);
  }

  /** The unique values of a record, as names of locks. */
  const getUniqueLocks = (collection: string, document: Document | undefined): [UniqueIndex, string][] =>
    document === undefined
      ? []
      : (indexes.get(collection) ?? []).map((index) => [
          index,
          `${collection}/${index.name}/${index.fields.map((field) => formatValue(getValue(document, field))).join("\0")}`,
        ]);

  function lock(transaction: Transaction, name: string, isUnique: boolean): void {
    const owner = locks.get(name);
    const isInTransaction = transaction.id !== undefined;
    if (owner !== undefined && owner !== transaction) {
      if (!isInTransaction) throw new LockedError();
      throw createConflict("WriteConflict error: this operation conflicted with another operation.");
    }
    if (isInTransaction && (lastWrites.get(name) ?? 0) > transaction.snapshot)
      throw createConflict(
        isUnique && dialect === "conflict-in-transaction"
          ? "WriteConflict: duplicate key"
          : "WriteConflict error: this operation conflicted with another operation.",
      );
    locks.set(name, transaction);
    transaction.locks.add(name);
  }

  function put(transaction: Transaction, collection: string, key: string, after: Document | undefined): void {
    const records = readFrom(transaction.state, collection);
    const before = records.get(key);
    lock(transaction, `${collection}#${key}`, false);
    // Only what is added to an index is held: until the end of a transaction that frees a value, it is a duplicate to others.
    const kept = new Set(getUniqueLocks(collection, before).map(([, name]) => name));
    for (const [index, name] of getUniqueLocks(collection, after)) {
      if (kept.has(name)) continue;
      lock(transaction, name, true);
      requireUnique(transaction, { collection, key, index, name }, records);
    }
    const id = `${collection}#${key}`;
    if (!transaction.before.has(id)) transaction.before.set(id, { collection, key, document: before });
    const changed = new Map(records);
    if (after === undefined) changed.delete(key);
    else changed.set(key, after);
    transaction.state = new Map(transaction.state).set(collection, changed);
  }

  function requireUnique(
    { id }: Transaction,
    { collection, key, index, name }: { collection: string; key: string; index: UniqueIndex; name: string },
    records: Records,
  ): void {
    for (const [otherKey, other] of records) {
      if (otherKey === key) continue;
      if (getUniqueLocks(collection, other).some(([, otherName]) => otherName === name))
        throw createDuplicate(collection, index.name, id !== undefined);
    }
  }

  function createDuplicate(collection: string, index: string, isInTransaction: boolean): MongoServerError {
    if (dialect === "conflict-in-transaction" && isInTransaction)
      return createError(112, "WriteConflict: duplicate key", ["TransientTransactionError"]);
    const named = dialect === "mongodb" ? ` index: ${index}` : "";
    return createError(
      11000,
      `E11000 duplicate key error collection: topicsync.${collection}${named} dup key: {}`,
    );
  }

  function select(transaction: Transaction, collection: string, filter: Filter): [string, Document][] {
    const records = readFrom(transaction.state, collection);
    const id = filter["_id"];
    // A look-up by `_id`, which most are.
    if (id !== undefined && !isCondition(id)) {
      const key = formatValue(id);
      const record = records.get(key);
      return record !== undefined && matches(record, filter) ? [[key, record]] : [];
    }
    return [...records].filter(([, record]) => matches(record, filter));
  }

  function execute(transaction: Transaction, collection: string, statement: Statement): StatementResult {
    if (statement.kind === "insert") {
      const { document } = statement;
      const key = formatValue(document["_id"]);
      if (readFrom(transaction.state, collection).has(key)) {
        lock(transaction, `${collection}#${key}`, false);
        throw createDuplicate(collection, "_id_", transaction.id !== undefined);
      }
      put(transaction, collection, key, document);
      return { ...noMatch, document };
    }
    const found = select(transaction, collection, statement.filter);
    const selected = statement.multi === true ? found : found.slice(0, 1);
    if (statement.kind === "delete") {
      for (const [key] of selected) put(transaction, collection, key, undefined);
      return { ...noMatch, deleted: selected.length };
    }
    let document: Document | undefined;
    let modified = 0;
    for (const [key, record] of selected) {
      document = applyUpdate(record, statement.update, false);
      // As in MongoDB, an update that changes nothing writes nothing and conflicts with nothing.
      if (isEqual(record, document)) continue;
      put(transaction, collection, key, document);
      modified += 1;
    }
    if (selected.length === 0 && statement.upsert === true) {
      document = applyUpdate(toInserted(statement.filter), statement.update, true);
      const key = formatValue(document["_id"]);
      if (readFrom(transaction.state, collection).has(key))
        throw createDuplicate(collection, "_id_", transaction.id !== undefined);
      put(transaction, collection, key, document);
    }
    return { matched: selected.length, modified, deleted: 0, document };
  }

  /** Returns the number of the commit. */
  function apply(transaction: Transaction): number {
    const changes: Change[] = [];
    let next = state;
    for (const { collection, key } of transaction.before.values()) {
      const records = new Map(readFrom(next, collection));
      const before = records.get(key);
      const after = readFrom(transaction.state, collection).get(key);
      if (after === undefined) records.delete(key);
      else records.set(key, after);
      next = new Map(next).set(collection, records);
      changes.push({ collection, before, after });
    }
    release(transaction);
    changed();
    if (changes.length === 0) return last;
    last += 1;
    state = next;
    states.set(last, state);
    for (const name of transaction.locks) lastWrites.set(name, last);
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
      for (const one of command.statements) results.push(execute(transaction, command.collection, one));
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
        const result = execute(transaction, command.collection, statement);
        apply(transaction);
        return result;
      } catch (error) {
        release(transaction);
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
      const known = indexes.get(collection) ?? [];
      if (!unique || known.some((one) => one.name === name)) return;
      indexes.set(collection, [...known, { name, fields }]);
    },

    find({ client, collection, filter, projection, transaction }) {
      requireUp();
      const source =
        transaction === undefined ? begin(client, undefined) : findTransaction(client, transaction);
      const found = select(source, collection, filter).map(([, record]) => record);
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
      locks.clear();
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

const isCondition = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).some((name) => name.startsWith("$"));
