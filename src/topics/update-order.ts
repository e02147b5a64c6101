import { exchange, findRings, type Exchange } from "./rings.ts";
import type { Topic } from "./topic.ts";

export interface TopicUpdate {
  readonly from: Topic;
  readonly to: Topic;
}

/** Updates in an order in which each finds its unique values free. */
interface OrderedUpdates {
  readonly updated: readonly TopicUpdate[];
  /** Topics of rings that exchanged values: removed first and inserted again last. */
  readonly reinserted: readonly TopicUpdate[];
}

/**
 * Orders updates so that they violate no unique index: the topic that gives up a value goes before the one
 * that takes it. Rings (A takes B's combination while B takes A's) are opened by removing one member and
 * inserting it again at the end.
 */
export function orderUpdates(updates: readonly TopicUpdate[]): OrderedUpdates {
  if (!mayExchange(updates)) return { updated: updates, reinserted: [] };
  const updated: TopicUpdate[] = [];
  const reinserted: TopicUpdate[] = [];
  const place = (some: readonly ExchangingUpdate[]): void => {
    for (const [first, ...others] of findRings(some))
      if (first !== undefined && others.length > 0) {
        reinserted.push(first.update);
        place(others);
      } else if (first !== undefined) updated.push(first.update);
  };
  place(updates.map((update) => ({ update, ...exchange(update.from, update.to) })));
  return { updated, reinserted };
}

/** Whether a topic may take what another one gives up. Most take the name of no other topic. */
function mayExchange(updates: readonly TopicUpdate[]): boolean {
  const byName = new Map(updates.map(({ from }) => [from.name, from]));
  const isApart = ({ from, to }: TopicUpdate): boolean =>
    from.externalId === to.externalId && (byName.get(to.name) ?? from) === from;
  return byName.size < updates.length || !updates.every(isApart);
}

interface ExchangingUpdate extends Exchange {
  readonly update: TopicUpdate;
}
