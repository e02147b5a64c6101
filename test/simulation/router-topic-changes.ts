/** How processes and others change the topics of the router's world. */
import { UnavailableError } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import type { LiveTopicIndex } from "../../src/topics/live/live-topic-index.ts";
import type { Database } from "../../src/storage/database/database.ts";
import { collections } from "../../src/storage/names.ts";
import {
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../src/storage/topics/records.ts";
import type { RetiredTopic, Topic } from "../../src/topics/topic.ts";
import type { Clock, Host, MongoServer, Random } from "../simulated-servers/index.ts";
import { ExactWrites } from "./router-renames.ts";
import type { createTopicVersions } from "./router-versions.ts";

export interface Writer {
  readonly host: Host;
  readonly database: Database;
  readonly changed: LiveTopicIndex["changed"];
}

interface TopicChangesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly server: MongoServer;
}

export interface Renames {
  /** The numbers of the external ids that a topic has one after another. */
  readonly ids: readonly number[];
  readonly variant: number;
  readonly pauseMs: number;
}

export class TopicChanges {
  readonly #options: TopicChangesOptions;
  readonly #versions: ReturnType<typeof createTopicVersions>;
  readonly #updateTimes = new Map<string, number>();
  readonly #exact: ExactWrites;
  /** Whether external ids may belong to other topics than at first. */
  hasRenames = false;

  constructor(options: TopicChangesOptions, versions: ReturnType<typeof createTopicVersions>) {
    this.#options = options;
    this.#versions = versions;
    this.#exact = new ExactWrites({
      now: currentDate,
      getUpdateTime: (...names) => this.#getUpdateTime(...names),
      pause: () => this.#pause(),
    });
  }

  /** Changes a topic after a pause. */
  start(
    writer: Writer,
    index: number,
    {
      variant,
      pauseMs = 0,
      answerMs,
    }: { readonly variant: number | undefined; readonly pauseMs?: number; readonly answerMs?: number },
  ): void {
    this.#schedule(writer, pauseMs, () => this.#write(writer, this.#getId(index), variant, answerMs));
  }

  /** Renames a topic, again and again. */
  startRenames(writer: Writer, { ids: [first = 0, ...others], variant, pauseMs }: Renames): void {
    this.#schedule(writer, 0, async () => {
      let from = this.#getId(first);
      for (const index of others) {
        const to = this.#getId(index);
        const written = await this.#exact.rename(writer.database, from, this.#versions.define(to, variant));
        if (written === undefined) return;
        void writer.changed(written);
        from = to;
        await new Promise<void>((resolve) => {
          this.#options.clock.schedule(writer.host, pauseMs, resolve);
        });
      }
    });
  }

  #getId(index: number): string {
    const { ids } = this.#versions;
    return ids[index % ids.length] ?? "";
  }

  #schedule(writer: Writer, pauseMs: number, write: () => Promise<void>): void {
    this.#options.clock.schedule(writer.host, pauseMs, () => {
      write().catch((error: unknown) => {
        if (!(error instanceof UnavailableError)) this.#options.clock.fail(error);
      });
    });
  }

  /** Each version of a record has a later time, also if it is removed and stored again in between. */
  #getUpdateTime(...names: readonly string[]): Date {
    const last = Math.max(...names.map((name) => this.#updateTimes.get(name) ?? 0));
    const time = Math.max(currentDate().getTime(), last + 1);
    for (const name of names) this.#updateTimes.set(name, time);
    return new Date(time);
  }

  /** Without a transaction, the process may end in between, and another one removes the topic later. */
  async #pause(): Promise<void> {
    if (!this.#options.random.chance(0.3)) return;
    await new Promise<void>((resolve) => {
      const host = this.#options.clock.getHost();
      this.#options.clock.schedule(host, this.#options.random.between(1_000, 15_000), resolve);
    });
  }

  /**
   * Stores a version, or removes the topic. Reports it to the process that wrote it, some time after it is
   * acknowledged.
   */
  async #write(
    { database, ...writer }: Writer,
    id: string,
    variant: number | undefined,
    answerMs = 0,
  ): Promise<void> {
    const changed: Writer["changed"] = (writes) => {
      this.#options.clock.schedule(writer.host, answerMs, () => {
        void writer.changed(writes);
      });
      return Promise.resolve();
    };
    if (this.hasRenames) {
      const written =
        variant === undefined
          ? await this.#exact.remove(database, id)
          : await this.#exact.define(database, this.#versions.define(id, variant));
      if (written !== undefined) void changed(written);
      return;
    }
    const topics = database.collection<TopicRecord>(collections.topics);
    const source = { kind: "http", user: "admin" } as const;
    if (variant !== undefined) {
      const at = this.#getUpdateTime(id);
      const topic: Topic = {
        ...this.#versions.define(id, variant),
        version: 1,
        source,
        createdOn: at,
        updatedOn: at,
      };
      const { _id, ...fields } = toTopicRecord(topic);
      await database.run(() => topics.replaceOne({ _id }, fields, { upsert: true }));
      void changed({ updated: [topic] });
      return;
    }
    const stored = await database.run(() => topics.findOne({ _id: id }));
    if (stored === null) return;
    const updatedOn = stored.sys_updated_on;
    const topic = { ...this.#versions.define(id, 0), version: 1, source, createdOn: updatedOn, updatedOn };
    // Another process, whose clock is behind, may store the topic again with an earlier time.
    const retired: RetiredTopic = { topic, retiredOn: currentDate(), retiredBy: source };
    const remove = async (options: object): Promise<void> => {
      await database
        .collection<RetiredRecord>(collections.retiredTopics)
        .replaceOne({ _id: toRetiredId(retired) }, toRetiredRecord(retired), { ...options, upsert: true });
      if (!this.#options.server.options.isReplicaSet) await this.#pause();
      await topics.deleteOne({ _id: id }, options);
    };
    const session = database.startSession();
    if (session === undefined) await database.run(() => remove({}));
    else await database.runTransaction(session, () => remove({ session }));
    void changed({ retired: [retired] });
  }
}
