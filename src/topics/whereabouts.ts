import type { RetiredTopicStore, TopicStore } from "./stores.ts";
import type { RetiredTopic, Topic } from "./topic.ts";

/** The stores that a topic is in, one after the other. */
export interface TopicStores {
  readonly store: TopicStore;
  readonly retired: RetiredTopicStore;
}

/**
 * What there is of these external ids, active and retired last; a topic that came back is in both. The retired ones are
 * asked for once the active ones are known: a topic that is retired meanwhile is in one answer at least, never in none.
 * Throws UnavailableError.
 */
export async function findActiveAndRetired(
  { store, retired }: TopicStores,
  externalIds: readonly string[],
): Promise<{ readonly active: Topic[]; readonly last: RetiredTopic[] }> {
  const active = await store.findByExternalIds(externalIds);
  return { active, last: await retired.lastOf(externalIds) };
}
