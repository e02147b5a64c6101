import { orderUpdates } from "./order.ts";
import { getCombination, type RetiredTopic, type Topic, type TopicDefinition } from "./topic.ts";

/** The writes of a batch. Carried out in this order (removals first, insertions last) no unique index objects. */
export interface TopicWrites {
  readonly removed: readonly Topic[];
  readonly retired: readonly RetiredTopic[];
  readonly updated: readonly Topic[];
  readonly created: readonly Topic[];
}

/** The topics as they stand after the announcements applied so far. */
export type TopicSnapshot = ReturnType<typeof createTopicSnapshot>;

/** A view that begins with what is stored. It is changed by the announcements, one after another. */
export function createTopicSnapshot(stored: readonly Topic[]) {
  const ids = new Map<string, Topic>();
  /** Made when it is first asked for: a log that is read again needs none. */
  let combinations: Map<string, Topic> | undefined;
  const storedIds = new Set(stored.map(({ id }) => id));
  /** The stored topics that were touched, by their sys_id, as they were. */
  const before = new Map<string, Topic>();
  /** External ids whose topic differs, or differed for a moment, from what is stored. */
  const touched = new Set<string>();
  const retired: RetiredTopic[] = [];

  function put(topic: Topic): void {
    ids.set(topic.externalId, topic);
    combinations?.set(getCombination(topic), topic);
  }
  function take(topic: Topic): void {
    ids.delete(topic.externalId);
    combinations?.delete(getCombination(topic));
  }
  function touch(topic: Topic): void {
    touched.add(topic.externalId);
    if (storedIds.has(topic.id) && !before.has(topic.id)) before.set(topic.id, topic);
  }

  stored.forEach(put);

  return {
    byExternalId: (externalId: string) => ids.get(externalId),
    byCombination(definition: TopicDefinition): Topic | undefined {
      combinations ??= new Map([...ids.values()].map((topic) => [getCombination(topic), topic]));
      return combinations.get(getCombination(definition));
    },
    add(topic: Topic): void {
      touch(topic);
      put(topic);
    },
    replace(from: Topic, to: Topic): void {
      touch(from);
      take(from);
      put(to);
    },
    retire(one: RetiredTopic): void {
      touch(one.topic);
      take(one.topic);
      retired.push(one);
    },
    /** The net effect on what was stored. */
    writes(): TopicWrites {
      const remaining = new Map(before);
      const created: Topic[] = [];
      const changed: { from: Topic; to: Topic }[] = [];
      for (const externalId of touched) {
        const topic = ids.get(externalId);
        if (topic === undefined) continue;
        const from = remaining.get(topic.id);
        remaining.delete(topic.id);
        if (from === undefined) created.push(topic);
        else changed.push({ from, to: topic });
      }
      const { updated, reinserted } = orderUpdates(changed);
      return {
        removed: [...remaining.values(), ...reinserted],
        retired,
        updated,
        created: [...created, ...reinserted],
      };
    },
  };
}
