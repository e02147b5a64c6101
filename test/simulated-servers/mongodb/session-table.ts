/** The sessions that a member of a simulated MongoDB knows of, with their transactions. */
import type { Clock, Host } from "../clock.ts";
import type { TransactionId } from "./commands.ts";
import { createNoTransaction } from "./errors.ts";
import type { Transaction } from "./records.ts";

export interface ServerSession {
  /** The number of its last transaction. */
  number: number;
  /** The transaction, while it is open. */
  transaction: Transaction | undefined;
  /** The commit of the transaction, once it is committed. */
  committed: number | undefined;
}

export interface SessionTableOptions {
  readonly clock: Clock;
  readonly begin: (client: Host, id: TransactionId) => Transaction;
  /** Gives back what a transaction holds. */
  readonly release: (transaction: Transaction) => void;
}

const transactionLifetimeMs = 60_000;

export class SessionTable {
  readonly #options: SessionTableOptions;
  readonly #sessions: Map<string, ServerSession>;

  constructor(options: SessionTableOptions, inherited?: ReadonlyMap<string, ServerSession>) {
    this.#options = options;
    this.#sessions = new Map(inherited);
  }

  get(session: string): ServerSession | undefined {
    return this.#sessions.get(session);
  }

  /** Returns the open transaction with an id, which its first command begins. Throws if there is none. */
  findTransaction(client: Host, id: TransactionId): Transaction {
    this.expire();
    const session = this.#sessions.get(id.session) ?? {
      number: 0,
      transaction: undefined,
      committed: undefined,
    };
    this.#sessions.set(id.session, session);
    if (id.number < session.number) throw createNoTransaction();
    if (id.number > session.number) {
      if (!id.isFirst) throw createNoTransaction();
      this.end(session);
      session.number = id.number;
      session.committed = undefined;
      session.transaction = this.#options.begin(client, id);
    }
    if (session.transaction === undefined) throw createNoTransaction();
    return session.transaction;
  }

  /** Aborts the open transaction of a session, if there is one. */
  end(session: ServerSession | undefined): void {
    if (session?.transaction === undefined) return;
    this.#options.release(session.transaction);
    session.transaction = undefined;
  }

  endAll(): void {
    for (const session of this.#sessions.values()) this.end(session);
  }

  /** Aborts transactions that have been open for too long. */
  expire(): void {
    const now = this.#options.clock.getTime();
    for (const session of this.#sessions.values())
      if (session.transaction && now - session.transaction.startedAt > transactionLifetimeMs)
        this.end(session);
  }

  /** Returns the sessions as the next primary knows them, which has the commits up to one. */
  handOver(kept: number): ReadonlyMap<string, ServerSession> {
    return new Map(
      [...this.#sessions].map(([id, { number, committed }]) => [
        id,
        { number, transaction: undefined, committed: (committed ?? Infinity) > kept ? undefined : committed },
      ]),
    );
  }
}
