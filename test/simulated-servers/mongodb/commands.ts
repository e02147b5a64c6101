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
  /** Whether it is acknowledged only when a majority has it. */
  readonly awaitsMajority: boolean;
  /** Loses the server half way: the rest is not executed, and there is no response. */
  readonly statementsUntilCrash?: number;
}

export interface FindCommand extends CommandOptions {
  readonly filter: Filter;
  readonly projection: Document | undefined;
}

/** A change as change streams report it, with the record; null when it is gone. */
export interface StreamChange {
  readonly operationType: string;
  readonly fullDocument: Document | null;
}

/** What a change stream returns. */
export interface StreamBatch {
  readonly changes: readonly StreamChange[];
  /** Where the stream continues: the number of a commit. */
  readonly after: number;
}

export interface Change {
  readonly collection: string;
  readonly key: string;
  /** Whether the record was replaced as a whole. */
  readonly isReplaced: boolean;
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

export interface ServerObserver {
  readonly onCommit: (commit: Commit) => void;
  readonly onRead: (read: Read) => void;
  /** What a former primary commits, and nobody else ever gets. */
  readonly onLost?: (commit: Commit) => void;
  /** Every later commit is lost. */
  readonly onRollback: (lastKept: number) => void;
}

export const noMatch: StatementResult = { matched: 0, modified: 0, deleted: 0 };
