/**
 * A primary of a simulated MongoDB from its election on, with snapshot transactions, unique indexes and
 * sessions.
 */
import { MongoServerError } from "mongodb";

import type { Host } from "../clock.ts";
import { ConnectionLostError } from "../network.ts";
import {
  noMatch,
  type Commit,
  type FindCommand,
  type Statement,
  type StatementResult,
  type StreamBatch,
  type TransactionId,
  type WriteCommand,
  type WriteResult,
} from "./commands.ts";
import { copy, project, type Document } from "./documents.ts";
import { createError, createInterruptedError, createNoTransaction, createNotPrimaryError } from "./errors.ts";
import { applyWrites, RecordAccess, LockedError, readFrom, type State, type Transaction } from "./records.ts";
import type { Deposition, Inheritance, ReignOptions, Retried } from "./reign-options.ts";
import { SessionTable } from "./session-table.ts";
import { toStreamChanges } from "./stream-changes.ts";

const writeTimeoutMs = 10_000;
/** What waits for a lock or for replication looks again at the latest after this time. */
const pollMs = 1_000;
/** How long a change stream without changes waits before it responds. */
const maxAwaitMs = 1_000;

export class Reign {
  readonly term: number;
  readonly #world: ReignOptions;
  readonly #records: RecordAccess;
  /** By commit: the states to which an election may return. */
  readonly #states: Map<number, State>;
  readonly #sessions: SessionTable;
  readonly #retried: Map<string, Retried>;
  #last: number;
  #state: State;
  /** Undefined while it is the primary. */
  #deposition: Deposition | undefined;

  constructor(world: ReignOptions) {
    const inherited = world.former?.handOver(world.kept);
    this.term = world.term;
    this.#world = world;
    this.#records = new RecordAccess(world.options.dialect, world.indexes);
    this.#states = new Map(inherited?.states ?? [[0, new Map() as State]]);
    this.#retried = new Map(inherited?.retried);
    this.#last = world.kept;
    this.#state = this.#states.get(world.kept) ?? new Map();
    this.#sessions = new SessionTable(
      {
        clock: world.clock,
        begin: (client, id) => this.#begin(client, id),
        release: (transaction) => {
          this.#records.release(transaction);
          world.changed();
        },
      },
      inherited?.sessions,
    );
  }

  isUp(): boolean {
    const now = this.#world.clock.getTime();
    return now >= this.#world.upAt && (this.#deposition === undefined || now < this.#deposition.servesUntil);
  }

  getLastCommit(): number {
    return this.#last;
  }

  /** The commits to whose states an election may return. */
  listCommits(): readonly number[] {
    return [...this.#states.keys()];
  }

  readAll(collection: string): readonly Document[] {
    return [...readFrom(this.#state, collection).values()];
  }

  createIndex(collection: string, name: string, fields: readonly string[], unique: boolean): void {
    this.#requireUp();
    if (unique) this.#records.createIndex(collection, name, fields);
  }

  find({ client, collection, filter, projection, transaction }: FindCommand): readonly Document[] {
    this.#requireUp();
    const source =
      transaction === undefined ? this.#begin(client, undefined) : this.#findTransaction(client, transaction);
    const found = this.#records.select(source, collection, filter).map(([, record]) => record);
    this.#world.onRead({ client, collection, filter, found });
    return found.map((record) => copy(projection === undefined ? record : project(record, projection)));
  }

  async write(command: WriteCommand): Promise<WriteResult> {
    this.#requireUp();
    const { transaction, retryId, awaitsMajority } = command;
    if (transaction !== undefined) return this.#writeInTransaction(command, transaction);
    const known = retryId === undefined ? undefined : this.#retried.get(retryId);
    if (known !== undefined) {
      if (awaitsMajority) await this.#waitForMajority(known.commit);
      return known.result;
    }
    const result = await this.#writeOutside(command);
    const commit = this.#last;
    if (retryId !== undefined) this.#retried.set(retryId, { result, commit });
    if (awaitsMajority) await this.#waitForMajority(commit);
    return result;
  }

  async commit(id: TransactionId, awaitsMajority: boolean): Promise<void> {
    this.#requireUp();
    this.#sessions.expire();
    const session = this.#sessions.get(id.session);
    if (session?.number !== id.number) return this.#throwNoTransaction();
    if (session.transaction !== undefined) {
      session.committed = this.#apply(session.transaction);
      session.transaction = undefined;
    } else if (session.committed === undefined) return this.#throwNoTransaction();
    if (awaitsMajority) await this.#waitForMajority(session.committed);
  }

  abort(id: TransactionId): void {
    this.#requireUp();
    const session = this.#sessions.get(id.session);
    if (session?.number === id.number) this.#sessions.end(session);
  }

  killSessions(ids: readonly string[]): void {
    this.#requireUp();
    if (!this.#world.options.canKillSessions)
      throw createError(13, "not authorized on admin to execute command killSessions");
    for (const id of ids) this.#sessions.end(this.#sessions.get(id));
  }

  /** A change stream begins after everything that this member has. */
  openStream(): number {
    this.#requireUp();
    if (!this.#world.options.isReplicaSet)
      throw createError(40573, "The $changeStream stage is only supported on replica sets");
    this.#requireStreams();
    return this.#last;
  }

  /** Returns what a majority has of the changes after a commit; nothing after a while without any. */
  async readStream(collection: string, after: number): Promise<StreamBatch> {
    const { clock, streams, upAt, change } = this.#world;
    const deadline = clock.getTime() + maxAwaitMs;
    for (;;) {
      if (this.#deposition?.isAlive === false || clock.getTime() < upAt)
        throw new ConnectionLostError("connection lost");
      this.#requireStreams();
      const followsAgainAt = this.#deposition?.followsAgainAt ?? 0;
      const isBehind = clock.getTime() < Math.max(streams.lagUntil, followsAgainAt);
      if (this.#deposition?.rollsBack === true && !isBehind)
        throw createError(175, "operation was killed by a rollback");
      const commits = isBehind ? [] : this.#listReplicated().filter(({ number }) => number > after);
      const changes = commits
        .flatMap((commit) => commit.changes)
        .filter((one) => one.collection === collection)
        .flatMap((one) => toStreamChanges(one, this.#listReplicated()));
      if (changes.length > 0 || clock.getTime() >= deadline)
        return { changes, after: commits.at(-1)?.number ?? after };
      await change(maxAwaitMs);
    }
  }

  depose(deposition: Deposition): void {
    const { clock, host, changed } = this.#world;
    this.#deposition = deposition;
    if (deposition.servesUntil <= clock.getTime()) {
      this.#sessions.endAll();
      this.#records.releaseAll();
    }
    clock.schedule(host, deposition.servesUntil - clock.getTime(), changed);
  }

  /** The first commit of a primary: with it, a majority has everything before. */
  commitNothing(): void {
    const { host, countCommit, onCommit } = this.#world;
    this.#last = countCommit();
    this.#states.set(this.#last, this.#state);
    onCommit({ number: this.#last, client: host, changes: [] });
  }

  /** Forgets the states that no election returns to. */
  forgetBefore(commit: number): void {
    for (const number of this.#states.keys()) if (number < commit) this.#states.delete(number);
  }

  handOver(kept: number): Inheritance {
    return {
      states: new Map([...this.#states].filter(([number]) => number <= kept)),
      sessions: this.#sessions.handOver(kept),
      retried: new Map([...this.#retried].filter(([, { commit }]) => commit <= kept)),
    };
  }

  #requireUp(): void {
    if (this.#deposition?.isAlive === false) throw new ConnectionLostError("connection lost");
    if (!this.isUp()) throw createNotPrimaryError();
    this.#world.requireSettled();
  }

  #requireStreams(): void {
    const { clock, streams } = this.#world;
    if (clock.getTime() <= streams.failUntil) throw createError(streams.code, "no change streams");
  }

  #begin(client: Host, id: TransactionId | undefined): Transaction {
    return {
      ...{ client, id, snapshot: this.#last, startedAt: this.#world.clock.getTime(), state: this.#state },
      written: new Map(),
      locks: new Set(),
    };
  }

  #findTransaction(client: Host, id: TransactionId): Transaction {
    if (!this.#world.options.isReplicaSet)
      throw createError(20, "Transaction numbers are only allowed on a replica set member or mongos");
    return this.#sessions.findTransaction(client, id);
  }

  /** Commits what a transaction has written. Returns the number of the commit. */
  #apply(transaction: Transaction): number {
    const { countCommit, changed, onCommit } = this.#world;
    const { state, changes } = applyWrites(this.#state, transaction);
    if (changes.length > 0) this.#last = countCommit();
    this.#records.release(transaction, this.#last);
    changed();
    if (changes.length === 0) return this.#last;
    this.#state = state;
    this.#states.set(this.#last, state);
    onCommit({ number: this.#last, client: transaction.client, changes });
    return this.#last;
  }

  #listReplicated(): readonly Commit[] {
    const { getHistory, getMajority } = this.#world;
    return getHistory().filter(({ number }) => number <= getMajority());
  }

  /** Waits until a majority has a commit. Throws when it may be lost, or does not get there in time. */
  async #waitForMajority(commit: number): Promise<void> {
    const { clock, change, getMajority } = this.#world;
    const deadline = clock.getTime() + writeTimeoutMs;
    for (;;) {
      // A former primary does not learn what a majority has.
      if (this.#deposition === undefined && getMajority() >= commit) return;
      if (!this.isUp()) throw createInterruptedError();
      if (clock.getTime() > deadline) throw createError(64, "waiting for replication timed out");
      await change(pollMs);
    }
  }

  /**
   * The first error ends the transaction. A duplicate is an error of its statement, others are of the
   * command.
   */
  #writeInTransaction({ client, collection, statements }: WriteCommand, id: TransactionId): WriteResult {
    const transaction = this.#findTransaction(client, id);
    const results: StatementResult[] = [];
    try {
      for (const one of statements) results.push(this.#records.execute(transaction, collection, one));
      return { results, errors: [] };
    } catch (error) {
      this.#sessions.end(this.#sessions.get(id.session));
      if (!(error instanceof MongoServerError) || error.code !== 11000) throw error;
      return { results, errors: [{ index: results.length, error }] };
    }
  }

  async #writeOutside(command: WriteCommand): Promise<WriteResult> {
    const results: StatementResult[] = [];
    const errors: { index: number; error: MongoServerError }[] = [];
    const deadline = this.#world.clock.getTime() + (command.maxTimeMs ?? Infinity);
    for (const [index, statement] of command.statements.entries()) {
      if (index === command.statementsUntilCrash) throw createNotPrimaryError();
      try {
        results.push(await this.#writeAlone(command, statement, deadline));
      } catch (error) {
        if (!(error instanceof MongoServerError) || error.code !== 11000) throw error;
        errors.push({ index, error });
        results.push(noMatch);
        if (command.ordered) break;
      }
    }
    return { results, errors };
  }

  /** Executes a statement outside of transactions, once nothing holds its records. */
  async #writeAlone(
    { client, collection }: WriteCommand,
    statement: Statement,
    deadline: number,
  ): Promise<StatementResult> {
    const { clock, change } = this.#world;
    for (;;) {
      if (!this.isUp()) throw createNotPrimaryError();
      this.#sessions.expire();
      const transaction = this.#begin(client, undefined);
      try {
        const result = this.#records.execute(transaction, collection, statement);
        this.#apply(transaction);
        return result;
      } catch (error) {
        this.#records.release(transaction);
        if (!(error instanceof LockedError)) throw error;
      }
      if (clock.getTime() > deadline) throw createError(50, "operation exceeded time limit");
      await change(pollMs);
    }
  }

  /** MongoDB adds the label only when a majority has the state in which the transaction is missing. */
  async #throwNoTransaction(): Promise<never> {
    const isLasting = await this.#waitForMajority(this.#last).then(
      () => true,
      () => false,
    );
    throw createNoTransaction(isLasting);
  }
}
