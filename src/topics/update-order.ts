import { invariant } from "@topicsync/lib/invariant";
import { getCombination, type Topic } from "./topic.ts";

export interface TopicUpdate {
  readonly from: Topic;
  readonly to: Topic;
}

/** Updates in an order in which each finds its unique values free. */
interface OrderedUpdates {
  readonly updated: readonly TopicUpdate[];
  /** One topic of each ring that exchanged values: removed first and inserted again last. */
  readonly reinserted: readonly TopicUpdate[];
}

/**
 * Orders updates so that they violate no unique index: the topic that gives up a value goes before the one
 * that takes it. Rings (A takes B's combination while B takes A's) are opened by removing one member and
 * inserting it again at the end.
 */
export function orderUpdates(updates: readonly TopicUpdate[]): OrderedUpdates {
  const holders = new Map(updates.flatMap((one) => getUniqueValues(one.from).map((value) => [value, one])));
  const getBlockers = (update: TopicUpdate): TopicUpdate[] =>
    getUniqueValues(update.to)
      .flatMap((value) => holders.get(value) ?? [])
      .filter((holder) => holder !== update);

  /** How many values each update still waits for. */
  const waiting = new Map<TopicUpdate, number>();
  const waiters = new Map<TopicUpdate, TopicUpdate[]>();
  const ready: TopicUpdate[] = [];
  const reinserted: TopicUpdate[] = [];

  /** The values of an update are free: others may take them. */
  function release(update: TopicUpdate): void {
    for (const waiter of waiters.get(update) ?? []) {
      const count = waiting.get(waiter);
      if (count === undefined) continue;
      if (count > 1) waiting.set(waiter, count - 1);
      else {
        waiting.delete(waiter);
        ready.push(waiter);
      }
    }
  }

  /** Follows what blocks an update until it comes back to a member of a ring. */
  function findRingMember(start: TopicUpdate): TopicUpdate {
    const seen = new Set<TopicUpdate>();
    let update = start;
    while (!seen.has(update)) {
      seen.add(update);
      const blocker = getBlockers(update).find((one) => waiting.has(one));
      invariant(blocker !== undefined, "an update waits for another that waits");
      update = blocker;
    }
    return update;
  }

  for (const update of updates) {
    const blockers = getBlockers(update);
    if (blockers.length === 0) ready.push(update);
    else waiting.set(update, blockers.length);
    for (const one of blockers) waiters.set(one, [...(waiters.get(one) ?? []), update]);
  }
  for (let placed = 0; ;) {
    for (; placed < ready.length; placed += 1) release(ready[placed] as TopicUpdate);
    const [first] = waiting.keys();
    if (first === undefined) return { updated: ready, reinserted };
    const member = findRingMember(first);
    waiting.delete(member);
    reinserted.push(member);
    release(member);
  }
}

const getUniqueValues = (topic: Topic): readonly [string, string] => [
  `id ${topic.externalId}`,
  `combination ${getCombination(topic)}`,
];
