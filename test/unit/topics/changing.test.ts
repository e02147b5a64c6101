import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ChangesRejectedError, changeTopic } from "../../../src/topics/changing.ts";
import { VersionConflictError, type DefinitionChange } from "../../../src/topics/definition-change.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import type { Topic, TopicDefinition } from "../../../src/topics/topic.ts";
import { createMemoryTable } from "./memory-table.ts";
import { createDefinition } from "./model.ts";

const toDefinition = (namespace: string, name: string): TopicDefinition => ({
  ...createDefinition("a", name),
  namespace,
});

/** Throws for topics that are not the caller's. */
function check({ namespace }: Topic): void {
  if (namespace !== "own") throw new Error("there is no topic");
}

/** An external id that a foreign topic had, of the version 2, until it was disabled. */
async function createScene() {
  const topics = createTopicService(createMemoryTable());
  const change = (one: DefinitionChange, asked: typeof check | undefined = check) =>
    changeTopic(topics, one, { user: "bob", check: asked });
  await topics.create(toDefinition("foreign", "x"), "mallory");
  await change(
    { kind: "change", externalId: "a", definition: toDefinition("foreign", "y") },
    () => undefined,
  );
  await change({ kind: "disable", externalId: "a" }, () => undefined);
  const create = () => topics.create(toDefinition("own", "z"), "bob");
  return { topics, change, create };
}

describe("an external id that a foreign topic had before", () => {
  it("belongs to its next owner, who does not notice", async () => {
    const { change, create } = await createScene();
    const { topic } = await create();
    await assert.rejects(
      change({ kind: "disable", externalId: "a", expected: { version: 2 } }),
      VersionConflictError,
    );
    const definition = toDefinition("own", "changed");
    assert.equal((await change({ kind: "change", externalId: "a", definition })).topic.id, topic.id);
    const enabled = await change({ kind: "enable", externalId: "a" });
    assert.deepEqual([enabled.topic.id, enabled.changed], [topic.id, false]);
    assert.equal((await change({ kind: "disable", externalId: "a" })).topic.id, topic.id);
  });

  it("belongs to nobody else until it has a next owner", async () => {
    const { topics, change } = await createScene();
    for (const kind of ["disable", "enable"] as const)
      await assert.rejects(change({ kind, externalId: "a" }), /^Error: there is no topic$/);
    const changes = [{ kind: "enable", externalId: "a", definition: toDefinition("own", "w") }] as const;
    await assert.rejects(topics.change(changes, { user: "bob", check }), /^Error: there is no topic$/);
    await assert.rejects(
      topics.change([{ kind: "disable", externalId: "b" }], { user: "bob", check }),
      ChangesRejectedError,
    );
  });

  it("shows those who may change both what became of each", async () => {
    const { change, create } = await createScene();
    const { topic } = await create();
    const again = await change(
      { kind: "disable", externalId: "a", expected: { version: 2 } },
      () => undefined,
    );
    assert.equal(again.changed, false);
    assert.notEqual(again.topic.id, topic.id);
  });
});
