/** What a simulated MongoDB is asked, what it answers, and what it shows to observers. */
import type { MongoServerError } from "mongodb";

import type { Host } from "../clock.ts";
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

export interface FindCommand extends CommandOptions {
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
