import { ConnectionLostError } from "../network.ts";
import type { StreamChange } from "./commands.ts";
import type { MongoConnection } from "./connection.ts";
import type { Reign } from "./reign.ts";

export interface StreamFilter {
  readonly $match: { readonly operationType: { readonly $in: readonly string[] } };
}

/** Where a stream continues. */
interface Cursor {
  readonly member: Reign;
  readonly after: number;
}

/**
 * A change stream: resumes on the present primary after a lost connection, and after 10107 and the like.
 * After any other error it ends.
 */
export class ChangeStream {
  readonly #connection: MongoConnection;
  readonly #collection: string;
  readonly #types: readonly string[];
  #cursor: Cursor | undefined;
  #isClosed = false;
  readonly #buffered: StreamChange[] = [];

  constructor(connection: MongoConnection, collection: string, { $match }: StreamFilter) {
    this.#connection = connection;
    this.#collection = collection;
    this.#types = $match.operationType.$in;
  }

  async tryNext(): Promise<null> {
    if (this.#cursor === undefined) await this.#open();
    return null;
  }

  async next(): Promise<StreamChange> {
    for (;;) {
      if (this.#isClosed) throw new Error("the change stream is closed");
      const change = this.#buffered.shift();
      if (change !== undefined) return change;
      await this.#fetchMore();
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return Promise.resolve();
  }

  async #open(after?: number): Promise<void> {
    this.#cursor = await this.#connection.send((primary) => {
      const last = primary.openStream();
      return { member: primary, after: after ?? last };
    }, "read");
  }

  async #fetchMore(): Promise<void> {
    if (this.#cursor === undefined) await this.#open();
    if (this.#cursor === undefined) return;
    const { member, after } = this.#cursor;
    try {
      const batch = await this.#connection.call(() => member.readStream(this.#collection, after));
      this.#cursor = { member, after: batch.after };
      this.#buffered.push(
        ...batch.changes.filter(({ operationType }) => this.#types.includes(operationType)),
      );
    } catch (error) {
      if (this.#isClosed || !(error instanceof ConnectionLostError)) throw error;
      this.#connection.suspectIfDown(member);
      await this.#open(after);
    }
  }
}
