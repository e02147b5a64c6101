import type { Db } from "mongodb";

const topicsName = "svc_api_notif_mgmt_topic";
const retiredName = "svc_api_notif_mgmt_topic_retired";

/** Watches sys_ids over a run: one that was seen stays the topic's, until a tombstone retires the topic. */
export function watchSysIds(db: Db) {
  const seen = new Map<string, string>();

  async function stored(): Promise<Map<string, string>> {
    const topics = db.collection<{ _id: string; topic_id: string }>(topicsName);
    const records = await topics.find({}, { projection: { topic_id: 1 } }).toArray();
    return new Map(records.map(({ _id, topic_id }) => [_id, topic_id]));
  }

  async function retired(): Promise<Map<string, string>> {
    const topics = db.collection<{ sys_id: string; topic_id: string }>(retiredName);
    const records = await topics.find({}, { projection: { sys_id: 1, topic_id: 1 } }).toArray();
    return new Map(records.map(({ sys_id, topic_id }) => [sys_id, topic_id]));
  }

  return {
    /** Remembers the sys_ids of the topics that are stored now. A store that is away is looked at next time. */
    async look(): Promise<void> {
      for (const [id, externalId] of await stored().catch(() => new Map<string, string>()))
        seen.set(id, externalId);
    },
    /** The sys_ids that changed without a tombstone, in words. */
    async differences(): Promise<string[]> {
      const [now, gone] = await Promise.all([stored(), retired()]);
      return [...seen].flatMap(([id, externalId]) => {
        const found = now.get(id) ?? gone.get(id);
        return found === externalId ? [] : [`sys_id ${id} of ${externalId}: found ${found ?? "nowhere"}`];
      });
    },
  };
}
