import type { ChangeStream, ChangeStreamDocument, Document } from "mongodb";

import { invariant } from "@topicsync/lib/invariant";
import { elapsed } from "@topicsync/lib/platform";
import type { Following, TopicChange } from "../../topics/live/feed.ts";
import type { Database } from "../database/database.ts";
import { collections, type CollectionName } from "../names.ts";
import { toRenames, type TopicRecord } from "./records.ts";

/** A stream that ends sooner counts as one that could not be opened. */
const minStreamMs = 60_000;
/** After an election that is not visible, majority reads may be older than a change for this time. */
const hiddenElectionMs = 10_000;

export const electionError = new Error("the primary of MongoDB has changed");

interface StreamsListener {
  readonly onChanged: (changes: readonly TopicChange[]) => void;
  /** Called once. `isLost`: the streams were open and not closed, so changes may be missed from now on. */
  readonly onEnded: (end: {
    readonly reason: unknown;
    readonly isLost: boolean;
    readonly isLasting: boolean;
  }) => void;
}

/**
 * `ended`: nothing is reported any more. The driver closes a stream before it throws, so the streams cannot
 * tell.
 */
type State = { readonly mode: "opening" | "open" } | { readonly mode: "ended"; readonly reason: unknown };

/**
 * The change streams of topics and retired topics, which end together.
 *
 * Invariant: what is read while streams are open is reported when it changes, or the streams are lost. They
 * report only what a majority has, and stay with a member that is no longer the primary; reads return what an
 * election may take back. So the streams are lost with each election.
 */
export class TopicStreams implements Following {
  readonly #database: Database;
  readonly #listener: StreamsListener;
  readonly #startedAt = elapsed();
  readonly #stopListening: () => void;
  #streams: readonly ChangeStream[] = [];
  #state: State = { mode: "opening" };

  private constructor(database: Database, listener: StreamsListener) {
    this.#database = database;
    this.#listener = listener;
    this.#stopListening = database.onElection(() => {
      this.#end(electionError);
    });
  }

  /** Reports every change after it resolves. Throws what MongoDB says, and `electionError`. */
  static async open(database: Database, listener: StreamsListener): Promise<TopicStreams> {
    const streams = new TopicStreams(database, listener);
    await streams.#open();
    return streams;
  }

  async close(): Promise<void> {
    this.#end("closed", { isLost: false });
    this.#stopListening();
    await Promise.all(this.#streams.map((stream) => stream.close()));
  }

  async #open(): Promise<void> {
    const opened = await Promise.allSettled(
      [collections.topics, collections.retiredTopics].map((name) => this.#watch(name)),
    );
    this.#streams = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    for (const one of opened) if (one.status === "rejected") this.#end(one.reason);
    const state = this.#getState();
    if (state.mode === "ended") {
      await this.close();
      throw state.reason;
    }
    invariant(this.#streams.length === opened.length, "both collections are watched");
    this.#state = { mode: "open" };
  }

  /** The state after an `await`, which the compiler takes for unchanged. */
  #getState(): State {
    return this.#state;
  }

  #end(reason: unknown, { isLost = this.#state.mode === "open" } = {}): void {
    if (this.#state.mode === "ended") return;
    this.#state = { mode: "ended", reason };
    this.#listener.onEnded({ reason, isLost, isLasting: elapsed() - this.#startedAt >= minStreamMs });
  }

  async #watch(name: CollectionName): Promise<ChangeStream> {
    const stream = this.#database
      .collection<Document>(name)
      .watch([{ $match: { operationType: { $in: ["insert", "replace", "update"] } } }], {
        fullDocument: "updateLookup",
        // The only level that change streams have.
        readConcern: { level: "majority" },
      });
    const readForever = async (): Promise<never> => {
      for (;;) this.#report(name, await stream.next());
    };
    try {
      // The first response shows that the stream is open on the server.
      this.#report(name, await stream.tryNext());
    } catch (error) {
      await stream.close().catch(() => undefined);
      throw error;
    }
    readForever().catch((error: unknown) => {
      this.#end(error);
    });
    return stream;
  }

  #report(name: CollectionName, document: ChangeStreamDocument | null): void {
    const changes = document === null ? [] : toTopicChanges(document, name);
    if (changes.length === 0) return;
    const report = (): void => {
      if (this.#state.mode !== "ended") this.#listener.onChanged(changes);
    };
    report();
    if (!this.#database.seesElections()) setTimeout(report, hiddenElectionMs).unref();
  }
}

function toTopicChanges(change: ChangeStreamDocument, name: CollectionName): TopicChange[] {
  // Null if the record has been deleted since.
  const record = "fullDocument" in change ? (change.fullDocument as unknown as TopicRecord | null) : null;
  if (record === null) return [];
  const { topic_id: externalId, sys_updated_on: updatedOn } = record;
  if (name !== collections.topics) return [{ externalId, updatedOn: undefined }];
  return [{ externalId, updatedOn: updatedOn.getTime() }, ...toRenames(record)];
}
