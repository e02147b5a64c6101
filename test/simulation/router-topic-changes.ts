/** How processes and others change the topics of the router's world. */
import { UnavailableError } from "../../src/lib/errors.ts";
import { currentDate } from "../../src/lib/platform.ts";
import type { LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import type { Database } from "../../src/storage/database.ts";
import { collections } from "../../src/storage/names.ts";
import {
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../src/storage/topic-records.ts";
import type { RetiredTopic, Topic } from "../../src/topics/topic.ts";
import type { Clock, Host, MongoServer, Random } from "../simulated-servers/index.ts";
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

export class TopicChanges {
  readonly #options: TopicChangesOptions;
  readonly #versions: ReturnType<typeof createTopicVersions>;
  readonly #updateTimes = new Map<string, number>();

  constructor(options: TopicChangesOptions, versions: ReturnType<typeof createTopicVersions>) {
    this.#options = options;
    this.#versions = versions;
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
    const { ids } = this.#versions;
    this.#options.clock.schedule(writer.host, pauseMs, () => {
      this.#write(writer, ids[index % ids.length] ?? "", variant, answerMs).catch((error: unknown) => {
        if (!(error instanceof UnavailableError)) this.#options.clock.fail(error);
      });
    });
  }

  /** Each version of a record has a later time, also if it is removed and stored again in between. */
  #getUpdateTime(id: string): Date {
    const time = Math.max(currentDate().getTime(), (this.#updateTimes.get(id) ?? 0) + 1);
    this.#updateTimes.set(id, time);
    return new Date(time);
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
      // Without a transaction, the process may end in between, and another one removes the topic later.
      if (!this.#options.server.options.isReplicaSet && this.#options.random.chance(0.3))
        await new Promise<void>((resolve) => {
          this.#options.clock.schedule(writer.host, this.#options.random.between(1_000, 15_000), resolve);
        });
      await topics.deleteOne({ _id: id }, options);
    };
    const session = database.startSession();
    if (session === undefined) await database.run(() => remove({}));
    else await database.runTransaction(session, () => remove({ session }));
    void changed({ retired: [retired] });
  }
}
