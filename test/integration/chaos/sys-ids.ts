import type { Db } from "mongodb";

import { collections } from "../../../src/storage/names.ts";

/** Checks that a topic keeps its sys_id until a tombstone retires it. */
export function watchSysIds(db: Db) {
  const seen = new Map<string, string>();

  async function readStored(): Promise<Map<string, string>> {
    const topics = db.collection<{ _id: string; topic_id: string }>(collections.topics);
    const records = await topics.find({}, { projection: { topic_id: 1 } }).toArray();
    return new Map(records.map(({ _id, topic_id }) => [_id, topic_id]));
  }

  async function readRetired(): Promise<Map<string, string>> {
    const topics = db.collection<{ sys_id: string; topic_id: string }>(collections.retiredTopics);
    const records = await topics.find({}, { projection: { sys_id: 1, topic_id: 1 } }).toArray();
    return new Map(records.map(({ sys_id, topic_id }) => [sys_id, topic_id]));
  }

  return {
    /** Records the sys_ids of the stored topics; does nothing while the store is down. */
    async refresh(): Promise<void> {
      for (const [id, externalId] of await readStored().catch(() => new Map<string, string>()))
        seen.set(id, externalId);
    },
    /** Describes the sys_ids that changed without a tombstone. */
    async findDifferences(): Promise<string[]> {
      const [now, gone] = await Promise.all([readStored(), readRetired()]);
      return [...seen].flatMap(([id, externalId]) => {
        const found = now.get(id) ?? gone.get(id);
        return found === externalId ? [] : [`sys_id ${id} of ${externalId}: found ${found ?? "nowhere"}`];
      });
    },
  };
}
