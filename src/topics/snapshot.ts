import { getUpdateTime } from "../lib/update-time.ts";
import { getCombination, type RetiredTopic, type Topic, type TopicDefinition } from "./topic.ts";

/** The writes of a batch. In this order (removals first, insertions last) they violate no unique index. */
export interface TopicWrites {
  readonly removed: readonly Topic[];
  readonly retired: readonly RetiredTopic[];
  readonly updated: readonly Topic[];
  readonly created: readonly Topic[];
}

/** The topics after the announcements applied so far. */
export type TopicSnapshot = ReturnType<typeof createTopicSnapshot>;

/** Creates a snapshot of stored topics, for announcements to change one after another. */
export function createTopicSnapshot(stored: readonly Topic[]) {
  const ids = new Map<string, Topic>();
  /** Built on first use: a log that is read again needs none. */
  let combinations: Map<string, Topic> | undefined;
  const storedIds = new Set(stored.map(({ id }) => id));
  /** The stored version of each touched topic, by sys_id. */
  const before = new Map<string, Topic>();
  /** External ids whose topic differs, or differed for a moment, from the stored one. */
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
    findByExternalId: (externalId: string) => ids.get(externalId),
    findByCombination(definition: TopicDefinition): Topic | undefined {
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
    toWrites(): TopicWrites {
      const remaining = new Map(before);
      const created: Topic[] = [];
      const changed: { from: Topic; to: Topic }[] = [];
      for (const externalId of touched) {
        const topic = ids.get(externalId);
        if (topic === undefined) continue;
        const from = remaining.get(topic.id);
        remaining.delete(topic.id);
        if (from === undefined) created.push(topic);
        else
          changed.push({ from, to: { ...topic, updatedOn: getUpdateTime(topic.updatedOn, from.updatedOn) } });
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

/** Updates in an order in which each finds its combination free. */
interface OrderedUpdates {
  readonly updated: readonly Topic[];
  /** One topic of each ring that exchanged combinations: removed first and inserted again last. */
  readonly reinserted: readonly Topic[];
}

/**
 * Orders updates so that they violate no unique index: the topic that gives up a combination goes before the
 * one that takes it. Rings (A takes B's combination while B takes A's) are opened by removing one member and
 * inserting it again at the end.
 */
function orderUpdates(changes: readonly { readonly from: Topic; readonly to: Topic }[]): OrderedUpdates {
  const holders = new Map(changes.map((change) => [getCombination(change.from), change]));
  const updated: Topic[] = [];
  const reinserted: Topic[] = [];
  const placed = new Set<string>();

  for (const start of changes) {
    // Follows each wanted combination to its holder until one is free, then applies the chain backwards.
    const chain: (typeof start)[] = [];
    const inChain = new Set<string>();
    for (let next: typeof start | undefined = start; next !== undefined && !placed.has(next.to.id);) {
      if (inChain.has(next.to.id)) {
        // A chain can only return to its start: two topics never take the same combination.
        reinserted.push(next.to);
        placed.add(next.to.id);
        break;
      }
      chain.push(next);
      inChain.add(next.to.id);
      const wanted = getCombination(next.to);
      next = wanted === getCombination(next.from) ? undefined : holders.get(wanted);
    }
    for (const change of chain.toReversed()) {
      if (placed.has(change.to.id)) continue;
      updated.push(change.to);
      placed.add(change.to.id);
    }
  }
  return { updated, reinserted };
}
