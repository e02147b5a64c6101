/**
 * Changes of topics where external ids move from one topic to another: what is written replaces exactly the
 * version that was read, as the product does it.
 */
import { newId } from "@topicsync/lib/sys-id";
import type { Database } from "../../src/storage/database/database.ts";
import { isDuplicate } from "../../src/storage/database/failures.ts";
import { collections } from "../../src/storage/names.ts";
import {
  fromTopicRecord,
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../src/storage/topics/records.ts";
import type { TopicWrites } from "../../src/topics/snapshot.ts";
import type { RetiredTopic, Topic, TopicDefinition } from "../../src/topics/topic.ts";

/** What a writer tells its own index. */
export type OwnWrites = Partial<TopicWrites>;

export interface ExactOptions {
  /** Later than any time of a version of the topic, or under the external id. */
  readonly getUpdateTime: (...names: readonly string[]) => Date;
  /** Between the two parts of a removal without a transaction. */
  readonly pause: () => Promise<void>;
  readonly now: () => Date;
}

const source = { kind: "http", user: "admin" } as const;

/** Each function returns what was written, and undefined if another writer was faster. */
export class ExactWrites {
  readonly #options: ExactOptions;

  constructor(options: ExactOptions) {
    this.#options = options;
  }

  /** Stores what is to be found under an external id. */
  async define(database: Database, definition: TopicDefinition): Promise<OwnWrites | undefined> {
    const { externalId } = definition;
    const current = await this.#find(database, externalId);
    if (current !== undefined) {
      const topic = this.#toNext(current, definition);
      return (await this.#replace(database, current, topic)) ? { updated: [topic] } : undefined;
    }
    const id = newId();
    const at = this.#options.getUpdateTime(id, externalId);
    const topic: Topic = { ...definition, id, version: 1, source, createdOn: at, updatedOn: at };
    const topics = database.collection<TopicRecord>(collections.topics);
    const isStored = await unlessDuplicate(database.run(() => topics.insertOne(toTopicRecord(topic))));
    return isStored ? { created: [topic] } : undefined;
  }

  /** Gives the topic of an external id another one, with another definition. */
  async rename(
    database: Database,
    externalId: string,
    definition: TopicDefinition,
  ): Promise<OwnWrites | undefined> {
    const current = await this.#find(database, externalId);
    if (current === undefined || externalId === definition.externalId) return undefined;
    const formerIds = [...(current.formerIds ?? []), externalId].filter((id) => id !== definition.externalId);
    const topic = { ...this.#toNext(current, definition), formerIds };
    if (!(await this.#replace(database, current, topic))) return undefined;
    const ended = {
      endedBy: source,
      endedOn: topic.updatedOn,
      action: "renamed",
      isTransient: false,
    } as const;
    return { replaced: [{ topic: current, ...ended }], updated: [topic] };
  }

  async remove(database: Database, externalId: string): Promise<OwnWrites | undefined> {
    const topic = await this.#find(database, externalId);
    if (topic === undefined) return undefined;
    const topics = database.collection<TopicRecord>(collections.topics);
    const retirements = database.collection<RetiredRecord>(collections.retiredTopics);
    const retired: RetiredTopic = { topic, retiredOn: this.#options.now(), retiredBy: source };
    const _id = toRetiredId(retired);
    const store = (options: object) =>
      retirements.replaceOne({ _id }, toRetiredRecord(retired), { ...options, upsert: true });
    const remove = async (options: object): Promise<boolean> =>
      (await topics.deleteOne({ _id: topic.id, sys_updated_on: topic.updatedOn }, options)).deletedCount ===
      1;
    const session = database.startSession();
    if (session !== undefined) {
      const removed: RetiredTopic[] = [];
      await database.runTransaction(session, async () => {
        removed.length = 0;
        if (!(await remove({ session }))) return;
        await store({ session });
        removed.push(retired);
      });
      return { retired: removed };
    }
    return database.run(async () => {
      await store({});
      await this.#options.pause();
      if (await remove({})) return { retired: [retired] };
      if ((await topics.findOne({ _id: topic.id })) !== null) await retirements.deleteOne({ _id });
      return undefined;
    });
  }

  async #find(database: Database, externalId: string): Promise<Topic | undefined> {
    const topics = database.collection<TopicRecord>(collections.topics);
    const stored = await database.run(() => topics.findOne({ topic_id: externalId }));
    return stored === null ? undefined : fromTopicRecord(stored);
  }

  #toNext(current: Topic, definition: TopicDefinition): Topic {
    const { id, version, externalId } = current;
    const updatedOn = this.#options.getUpdateTime(id, externalId, definition.externalId);
    return { ...current, ...definition, id, version: version + 1, source, updatedOn };
  }

  async #replace(database: Database, current: Topic, topic: Topic): Promise<boolean> {
    const topics = database.collection<TopicRecord>(collections.topics);
    const { _id, ...replacement } = toTopicRecord(topic);
    const filter = { _id, sys_updated_on: current.updatedOn };
    let matched = 0;
    const replace = async (): Promise<void> => {
      const result = await topics.bulkWrite([{ replaceOne: { filter, replacement } }]);
      matched = result.matchedCount;
    };
    return (await unlessDuplicate(database.run(replace))) && matched === 1;
  }
}

/** Returns false if the external id belongs to another topic. */
async function unlessDuplicate(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}
