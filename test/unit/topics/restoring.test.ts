import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { allowAll } from "../../support/allow-all.ts";
import { UnknownTopicError, VersionConflictError } from "../../../src/topics/definition-change.ts";
import { changeTopic, type ChangeOptions } from "../../../src/topics/changing.ts";
import { restoreTopic, type RestoreRequest } from "../../../src/topics/restoring.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import type { Topic, TopicDefinition } from "../../../src/topics/topic.ts";
import { createMemoryTable } from "./memory-table.ts";
import { createDefinition } from "./model.ts";

/** A topic "a" with versions of these names. */
async function createScene(first: string, ...names: readonly string[]) {
  const versions: Topic[] = [];
  const table = createMemoryTable(({ replaced, retired }) =>
    versions.push(...replaced.map(({ topic }) => topic), ...retired.map(({ topic }) => topic)),
  );
  const topics = createTopicService(table);
  const { topic } = await topics.create(createDefinition("a", first), "ann");
  const change = (name: string, as = "a") =>
    changeTopic(
      topics,
      { kind: "change", externalId: "a", definition: createDefinition(as, name) },
      { user: "ann", check: allowAll },
    );
  for (const name of names) await change(name);
  const find = (id: string) => {
    const active = table.topics.find((one) => one.externalId === id);
    const retired = table.retired.find((one) => one.topic.externalId === id);
    return Promise.resolve(
      active === undefined ? retired && { topic: retired.topic, retired } : { topic: active },
    );
  };
  const topicHistory = {
    findVersion: (_: string, version: number) => {
      const found = [...versions, ...table.topics].find(
        (one) => one.id === topic.id && one.version === version,
      );
      return Promise.resolve(found && { topic: found, ended: undefined, isTransient: false });
    },
  };
  const restore = (request: Partial<RestoreRequest>, options: Partial<ChangeOptions> = {}) =>
    restoreTopic(
      { topics, topicReader: { find }, topicHistory },
      { externalId: "a", version: 1, canSee: () => true, checkDefinition: allowAll, ...request },
      { user: "bob", check: allowAll, ...options },
    );
  return { table, topics, topic, change, restore };
}

describe("restoring a version", () => {
  it("stores its definition as the next version, under the same sys_id", async () => {
    const { restore, topic } = await createScene("x", "y", "z");
    const { topic: restored, changed } = await restore({ version: 2 });
    assert.deepEqual([restored.id, restored.version, restored.name, changed], [topic.id, 4, "y", true]);
    assert.deepEqual(restored.source, { kind: "http", user: "bob" });
    assert.equal((await restore({ version: 4 })).changed, false);
  });

  it("enables a disabled topic", async () => {
    const { restore, table, topics, topic } = await createScene("x", "y");
    await changeTopic(topics, { kind: "disable", externalId: "a" }, { user: "ann", check: allowAll });
    await restore({ version: 1 });
    assert.partialDeepStrictEqual(table.topics, [{ id: topic.id, version: 3, name: "x" }]);
  });

  it("keeps the external id that the topic has now", async () => {
    const { restore, change, topic } = await createScene("x");
    await change("x", "b");
    const { topic: restored } = await restore({ externalId: "b", version: 1 });
    assert.deepEqual([restored.id, restored.externalId, restored.version], [topic.id, "b", 2]);
  });

  it("knows the versions of their history", async () => {
    const { restore, table } = await createScene("x", "y");
    const before = table.topics;
    await assert.rejects(restore({ externalId: "b" }), UnknownTopicError);
    await assert.rejects(restore({ version: 3 }), (error: unknown) => {
      assert.ok(error instanceof UnknownTopicError);
      assert.match(error.message, /no version 3; its last one is 2$/);
      return true;
    });
    await assert.rejects(restore({ expected: { version: 1 } }), VersionConflictError);
    assert.deepEqual(table.topics, before);
  });

  it("asks whether the caller may change the topic, and store the definition", async () => {
    const { restore, table } = await createScene("x", "y");
    const asked: string[] = [];
    const check = ({ name }: TopicDefinition): void => {
      asked.push(name);
      if (asked.length > 1) throw new Error("not allowed");
    };
    await assert.rejects(restore({ checkDefinition: check }, { check }), /not allowed/);
    assert.deepEqual(asked, ["y", "x"]);
    assert.equal(table.topics[0]?.name, "y");
  });
});
