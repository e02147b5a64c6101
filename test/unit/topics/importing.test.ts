import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { createTopicImport } from "../../../src/topics/importing.ts";
import type { TopicDefinition } from "../../../src/topics/topic.ts";
import { createMemoryTable, type MemoryTable } from "./memory-table.ts";
import { createDefinition } from "./model.ts";

/** Of topics that are inserted at once, the last one is stored first. */
function createReversedTable(): MemoryTable {
  const table = createMemoryTable();
  const waiting: (() => void)[] = [];
  const release = (): void => {
    for (const one of waiting.splice(0).toReversed()) one();
  };
  return {
    ...table,
    get topics() {
      return table.topics;
    },
    async insert(topic) {
      await new Promise<void>((resolve) => {
        if (waiting.push(resolve) === 1) setImmediate(release);
      });
      await table.insert(topic);
    },
  };
}

/** The outcomes of one definition after the other, and the names of the topics afterwards. */
function importIntoModel(stored: ReadonlyMap<string, string>, definitions: readonly TopicDefinition[]) {
  const names = new Map(stored);
  const outcomes = definitions.map(({ externalId, name }) => {
    const existing = names.get(externalId);
    if (existing !== undefined) return existing === name ? "unchanged" : "DUPLICATE_EXTERNAL_ID";
    if ([...names.values()].includes(name)) return "DUPLICATE_COMBINATION";
    names.set(externalId, name);
    return "created";
  });
  return { names, outcomes };
}

describe("importing topics", () => {
  const definitions = fc.array(
    fc
      .tuple(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("u", "v", "w"))
      .map(([externalId, name]) => createDefinition(externalId, name)),
    { maxLength: 8 },
  );

  for (const dryRun of [false, true])
    it(`has the outcomes of one after the other${dryRun ? ", and stores nothing in a dry run" : ""}`, async () => {
      await fc.assert(
        fc.asyncProperty(definitions, definitions, async (before, imported) => {
          const table = createReversedTable();
          const options = { user: "ann", onCreated: undefined };
          await createTopicImport(table, { ...options, dryRun: false })(before);
          const stored = importIntoModel(new Map(), before).names;
          const expected = importIntoModel(stored, imported);
          const outcomes = await createTopicImport(table, { ...options, dryRun })(imported);
          assert.deepEqual(
            outcomes.map((one) => (typeof one === "string" ? one : one.code)),
            expected.outcomes,
          );
          const names = new Map(table.topics.map(({ externalId, name }) => [externalId, name]));
          assert.deepEqual(names, dryRun ? stored : expected.names);
        }),
      );
    });
});
