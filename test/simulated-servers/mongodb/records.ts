/** The records of a simulated MongoDB: statements, unique indexes, and which transaction holds what. */
import type { MongoServerError } from "mongodb";

import type { Host } from "../clock.ts";
import {
  noMatch,
  type Change,
  type Dialect,
  type Statement,
  type StatementResult,
  type TransactionId,
} from "./commands.ts";
import {
  applyUpdate,
  formatValue,
  getValue,
  isEqual,
  isReplacement,
  matches,
  toInserted,
  type Document,
  type Filter,
} from "./documents.ts";
import { createConflict, createError } from "./errors.ts";

export type Records = ReadonlyMap<string, Document>;
export type State = ReadonlyMap<string, Records>;

export interface Transaction {
  readonly client: Host;
  readonly id: TransactionId | undefined;
  readonly snapshot: number;
  readonly startedAt: number;
  state: State;
  /** What it writes, by collection and key. */
  readonly written: Map<string, { collection: string; key: string; isReplaced: boolean }>;
  readonly locks: Set<string>;
}

export interface UniqueIndex {
  readonly name: string;
  readonly fields: readonly string[];
}

/** A statement outside transactions waits for a transaction that holds its record. */
export class LockedError extends Error {}

export const readFrom = (from: State, collection: string): Records =>
  from.get(collection) ?? new Map<string, Document>();

/** Applies what a transaction has written to a state that others may have changed since. */
export function applyWrites(
  state: State,
  transaction: Transaction,
): { readonly state: State; readonly changes: readonly Change[] } {
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
  return { state: next, changes };
}

/** Executes statements of transactions, and knows what each of them holds. */
export class RecordAccess {
  readonly #dialect: Dialect;
  readonly #indexes: Map<string, UniqueIndex[]>;
  /** The transaction that holds a record or a unique value. */
  readonly #locks = new Map<string, Transaction>();
  /** The commit that wrote a record or added a unique value last. */
  readonly #lastWrites = new Map<string, number>();

  constructor(dialect: Dialect, indexes: Map<string, UniqueIndex[]>) {
    this.#dialect = dialect;
    this.#indexes = indexes;
  }

  select(transaction: Transaction, collection: string, filter: Filter): [string, Document][] {
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

  execute(transaction: Transaction, collection: string, statement: Statement): StatementResult {
    if (statement.kind === "insert") {
      const { document } = statement;
      const key = formatValue(document["_id"]);
      if (readFrom(transaction.state, collection).has(key)) {
        this.#lock(transaction, `${collection}#${key}`, false);
        throw this.#createDuplicate(collection, "_id_", transaction.id !== undefined);
      }
      this.#put(transaction, { collection, key }, document);
      return { ...noMatch, document };
    }
    const found = this.select(transaction, collection, statement.filter);
    const selected = statement.multi === true ? found : found.slice(0, 1);
    if (statement.kind === "delete") {
      for (const [key] of selected) this.#put(transaction, { collection, key }, undefined);
      return { ...noMatch, deleted: selected.length };
    }
    let document: Document | undefined;
    let modified = 0;
    for (const [key, record] of selected) {
      document = applyUpdate(record, statement.update, false);
      // As in MongoDB, an update that changes nothing writes nothing and conflicts with nothing.
      if (isEqual(record, document)) continue;
      this.#put(transaction, { collection, key, isReplaced: isReplacement(statement.update) }, document);
      modified += 1;
    }
    if (selected.length === 0 && statement.upsert === true) {
      document = applyUpdate(toInserted(statement.filter), statement.update, true);
      const key = formatValue(document["_id"]);
      if (readFrom(transaction.state, collection).has(key))
        throw this.#createDuplicate(collection, "_id_", transaction.id !== undefined);
      this.#put(transaction, { collection, key }, document);
    }
    return { matched: selected.length, modified, deleted: 0, document };
  }

  createIndex(collection: string, name: string, fields: readonly string[]): void {
    const known = this.#indexes.get(collection) ?? [];
    if (!known.some((one) => one.name === name)) this.#indexes.set(collection, [...known, { name, fields }]);
  }

  /** Ends what a transaction holds. `commit` is its number if it was committed. */
  release(transaction: Transaction, commit?: number): void {
    for (const name of transaction.locks) {
      this.#locks.delete(name);
      if (commit !== undefined) this.#lastWrites.set(name, commit);
    }
  }

  releaseAll(): void {
    this.#locks.clear();
  }

  /** The unique values of a record, as names of locks. */
  #getUniqueLocks(collection: string, document: Document | undefined): [UniqueIndex, string][] {
    return document === undefined
      ? []
      : (this.#indexes.get(collection) ?? []).map((index) => [
          index,
          `${collection}/${index.name}/${index.fields.map((field) => formatValue(getValue(document, field))).join("\0")}`,
        ]);
  }

  #lock(transaction: Transaction, name: string, isUnique: boolean): void {
    const owner = this.#locks.get(name);
    const isInTransaction = transaction.id !== undefined;
    if (owner !== undefined && owner !== transaction) {
      if (!isInTransaction) throw new LockedError();
      throw createConflict("WriteConflict error: this operation conflicted with another operation.");
    }
    if (isInTransaction && (this.#lastWrites.get(name) ?? 0) > transaction.snapshot)
      throw createConflict(
        isUnique && this.#dialect === "conflict-in-transaction"
          ? "WriteConflict: duplicate key"
          : "WriteConflict error: this operation conflicted with another operation.",
      );
    this.#locks.set(name, transaction);
    transaction.locks.add(name);
  }

  #put(
    transaction: Transaction,
    { collection, key, isReplaced = true }: { collection: string; key: string; isReplaced?: boolean },
    after: Document | undefined,
  ): void {
    const records = readFrom(transaction.state, collection);
    const before = records.get(key);
    this.#lock(transaction, `${collection}#${key}`, false);
    // Only what is added to an index is held: until the end of a transaction that frees a value, it is a
    // duplicate to others.
    const kept = new Set(this.#getUniqueLocks(collection, before).map(([, name]) => name));
    for (const [index, name] of this.#getUniqueLocks(collection, after)) {
      if (kept.has(name)) continue;
      this.#lock(transaction, name, true);
      this.#requireUnique(transaction, { collection, key, index, name }, records);
    }
    const id = `${collection}#${key}`;
    transaction.written.set(id, { collection, key, isReplaced });
    const changed = new Map(records);
    if (after === undefined) changed.delete(key);
    else changed.set(key, after);
    transaction.state = new Map(transaction.state).set(collection, changed);
  }

  #requireUnique(
    { id }: Transaction,
    { collection, key, index, name }: { collection: string; key: string; index: UniqueIndex; name: string },
    records: Records,
  ): void {
    for (const [otherKey, other] of records) {
      if (otherKey === key) continue;
      if (this.#getUniqueLocks(collection, other).some(([, otherName]) => otherName === name))
        throw this.#createDuplicate(collection, index.name, id !== undefined);
    }
  }

  #createDuplicate(collection: string, index: string, isInTransaction: boolean): MongoServerError {
    if (this.#dialect === "conflict-in-transaction" && isInTransaction)
      return createError(112, "WriteConflict: duplicate key", ["TransientTransactionError"]);
    const named = this.#dialect === "mongodb" ? ` index: ${index}` : "";
    return createError(
      11000,
      `E11000 duplicate key error collection: topicsync.${collection}${named} dup key: {}`,
    );
  }
}

const isCondition = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).some((name) => name.startsWith("$"));
