/** What a primary of a simulated MongoDB needs of its server, and what it hands over. */
import type { Clock, Host } from "../clock.ts";
import type { Commit, Read, ServerOptions, WriteResult } from "./commands.ts";
import type { State, UniqueIndex } from "./records.ts";
import type { ServerSession } from "./session-table.ts";

/** The outcome of a retryable write. */
export interface Retried {
  readonly result: WriteResult;
  readonly commit: number;
}

/** What a primary hands over to the next one. */
export interface Inheritance {
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
