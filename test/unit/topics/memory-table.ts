import { UniqueViolationError, type ChangeWrites, type TopicTable } from "../../../src/topics/stores.ts";
import { getCombination, type RetiredTopic, type Topic } from "../../../src/topics/topic.ts";
import { applyWrites } from "./apply-writes.ts";

/** Topics in memory, with two unique indexes. One caller at a time changes them. */
export interface MemoryTable extends TopicTable {
  topics: readonly Topic[];
  retired: readonly RetiredTopic[];
}

/** `renamed` is called with the writes of each change, before they are visible. */
export function createMemoryTable(renamed: (writes: ChangeWrites) => void = () => undefined): MemoryTable {
  const table: MemoryTable = {
    topics: [],
    retired: [],
    getPrimary: () => "primary",
    confirmReads: () => Promise.resolve(true),
    insert(topic) {
      const isTaken = table.topics.some(
        (one) => one.externalId === topic.externalId || getCombination(one) === getCombination(topic),
      );
      if (isTaken) return Promise.reject(new UniqueViolationError("taken"));
      table.topics = [...table.topics, topic];
      return Promise.resolve();
    },
    findByExternalIds: (ids) =>
      Promise.resolve(table.topics.filter(({ externalId }) => ids.includes(externalId))),
    findDefinitions: async (ids) =>
      (await table.findByExternalIds(ids)).map((topic) => ({ ...topic, sourceKind: topic.source.kind })),
    findByCombinations(definitions) {
      const wanted = new Set(definitions.map(getCombination));
      return Promise.resolve(table.topics.filter((topic) => wanted.has(getCombination(topic))));
    },
    async change(writes, further) {
      const topics = applyWrites(table.topics, writes);
      await further?.({});
      renamed(writes);
      table.topics = topics;
      table.retired = [...writes.retired, ...table.retired.filter((one) => !writes.enabled.includes(one))];
    },
    findLatestRetired: (ids) =>
      Promise.resolve(ids.flatMap((id) => table.retired.find(({ topic }) => topic.externalId === id) ?? [])),
  };
  return table;
}
