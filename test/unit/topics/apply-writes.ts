import assert from "node:assert/strict";

import type { TopicWrites } from "../../../src/topics/snapshot.ts";
import { getCombination, type Topic } from "../../../src/topics/topic.ts";

/** Applies writes like a store with two unique indexes: one at a time, each checked. */
export function applyWrites(topics: readonly Topic[], { removed, updated, created }: TopicWrites): Topic[] {
  const table = new Map(topics.map((topic) => [topic.id, topic]));
  const put = (topic: Topic): void => {
    for (const other of table.values()) {
      if (other.id === topic.id) continue;
      assert.notEqual(other.externalId, topic.externalId, "the index of external ids objects");
      assert.notEqual(getCombination(other), getCombination(topic), "the index of combinations objects");
    }
    table.set(topic.id, topic);
  };
  for (const { id } of removed) assert.ok(table.delete(id), "removes only what is stored");
  for (const topic of updated) {
    assert.ok(table.has(topic.id), "updates only what is stored");
    put(topic);
  }
  created.forEach(put);
  return [...table.values()];
}
