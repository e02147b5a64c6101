import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { collections } from "../../../../src/storage/names.ts";
import { createTopicDetailsStore } from "../../../../src/storage/topics/details.ts";
import { createTopicUsageStore } from "../../../../src/storage/topics/usage.ts";
import { createTopicStore } from "../../../../src/storage/topics/topics.ts";
import type { DefinitionChange } from "../../../../src/topics/definition-change.ts";
import { noDetails, toNextDetails, type SetMembership } from "../../../../src/topics/details/details.ts";
import { createTopicService } from "../../../../src/topics/service.ts";
import { allowAll } from "../../../support/allow-all.ts";
import { connectDatabase } from "../../../support/database.ts";
import { createDefinition } from "../../topics/model.ts";

const { database, db, log } = await connectDatabase();
const details = createTopicDetailsStore(database, { historyRetentionDays: undefined });
const usage = createTopicUsageStore(database);
const user = "ann";

const rename = (from: string, to: string, namespace = ""): DefinitionChange => ({
  ...{ kind: "change", externalId: from },
  definition: { ...createDefinition(to, `${to} was ${from}`), namespace },
});

async function describeTopic(externalId: string, owner: string, namespace = "", membership?: SetMembership) {
  const [current] = await details.find([externalId]);
  const topic = { externalId, name: externalId, namespace };
  const next = { topic, details: { ...noDetails, owner }, by: "bob", at: new Date() };
  await details.replace(toNextDetails(current, { ...next, ...(membership && { membership }) }), []);
}

const listDetails = async (): Promise<unknown[]> =>
  (await details.find(["a", "b", "c"]))
    .map(({ externalId, owner, version, namespace, words }) => [
      externalId,
      owner,
      version,
      namespace,
      words.join(" "),
    ])
    .toSorted();
const listUsage = async (): Promise<Record<string, number>> =>
  Object.fromEntries([...(await usage.find(["a", "b", "c"]))].map(([id, { events }]) => [id, events]));

for (const [what, opened] of [
  ["with transactions", database],
  ["without transactions", { ...database, startSession: () => undefined }],
] as const)
  describe(`renaming topics on a store ${what}`, () => {
    const store = createTopicStore(opened, log, { historyRetentionDays: undefined });
    const service = createTopicService(store);

    beforeEach(async () => {
      for (const name of [collections.topics, collections.topicDetails, collections.topicUsage])
        await db.collection(name).deleteMany({});
      for (const id of ["a", "b"]) await service.create(createDefinition(id), user);
      await usage.add([{ externalId: "a", matches: 3 }], new Date());
      await describeTopic("a", "noc");
    });

    it("moves the details and the usage", async () => {
      await service.change([rename("a", "c")], { user, check: allowAll });
      assert.deepEqual(await listDetails(), [["c", "noc", 2, "", "c was a noc"]]);
      assert.deepEqual(await listUsage(), { c: 3 });
      await service.change([rename("c", "a")], { user, check: allowAll });
      assert.deepEqual(await listDetails(), [["a", "noc", 3, "", "a was c noc"]]);
    });

    it("moves them also when topics exchange their external ids", async () => {
      await usage.add([{ externalId: "b", matches: 5 }], new Date());
      await describeTopic("b", "first");
      await describeTopic("b", "ran");
      await service.change([rename("a", "b"), rename("b", "a")], { user, check: allowAll });
      assert.deepEqual(await listDetails(), [
        ["a", "ran", 3, "", "a was b ran"],
        ["b", "noc", 3, "", "b was a noc"],
      ]);
      assert.deepEqual(await listUsage(), { a: 5, b: 3 });
      await service.change([rename("a", "c"), rename("b", "a", "next")], { user, check: allowAll });
      assert.deepEqual(await listUsage(), { c: 5, a: 3 });
      assert.deepEqual(
        (await listDetails()).map((one) => (one as unknown[]).slice(0, 2)),
        [
          ["a", "noc"],
          ["c", "ran"],
        ],
      );
    });

    it("replaces what another topic left under the new external id, whose version goes on", async () => {
      await service.change([{ kind: "disable", externalId: "b" }], { user, check: allowAll });
      for (const owner of ["one", "two", "three"]) await describeTopic("b", owner);
      await usage.add([{ externalId: "b", matches: 5 }], new Date());
      await service.change([rename("a", "b")], { user, check: allowAll });
      assert.deepEqual(await listDetails(), [["b", "noc", 4, "", "b was a noc"]]);
      assert.deepEqual(await listUsage(), { b: 3 });
    });

    it("hides details from another namespace as before, and moves others to that of the topic", async () => {
      await service.change([rename("a", "c", "inventory")], { user, check: allowAll });
      assert.deepEqual(await listDetails(), [["c", "noc", 2, "inventory", "c was a noc"]]);
      await describeTopic("b", "secret", "other");
      await service.change([rename("b", "a", "inventory")], { user, check: allowAll });
      assert.deepEqual((await listDetails())[0], ["a", "secret", 2, "other", "a was b secret"]);
    });

    it("remembers the external id in the file of a set until the topic has it again", async () => {
      const applied = { version: 1, digest: "d", plan: "p", on: new Date() };
      await describeTopic("a", "noc", "", { set: "noc", path: "a.yaml", applied });
      const readApplied = async () =>
        (await details.find(["a", "b", "c"])).map(({ membership }) => membership?.applied);
      for (const [from, to, expected] of [
        ["b", "b2", { ...applied }],
        ["a", "b", { ...applied, externalId: "a" }],
        ["b", "c", { ...applied, externalId: "a" }],
        ["c", "a", { ...applied }],
      ] as const) {
        await service.change([rename(from, to)], { user, check: allowAll });
        assert.deepEqual(await readApplied(), [expected]);
      }
    });
  });

describe("renaming topics with a transaction", () => {
  it("moves nothing if the rename is not stored", async () => {
    const service = createTopicService(createTopicStore(database, log, { historyRetentionDays: undefined }));
    for (const name of [collections.topics, collections.topicDetails, collections.topicUsage])
      await db.collection(name).deleteMany({});
    await service.create(createDefinition("a"), user);
    await describeTopic("a", "noc");
    const store = createTopicStore(
      {
        ...database,
        collection: ((name: string) => {
          if (name !== collections.topicUsage) return database.collection(name as never);
          return { find: () => ({ toArray: () => Promise.reject(new Error("usage cannot be read")) }) };
        }) as typeof database.collection,
      },
      log,
      { historyRetentionDays: undefined },
    );
    const failing = createTopicService(store).change([rename("a", "c")], { user, check: allowAll });
    await assert.rejects(failing, /usage cannot be read/);
    assert.deepEqual(await listDetails(), [["a", "noc", 1, "", "a noc"]]);
    assert.deepEqual(
      (await store.findByExternalIds(["a", "c"])).map(({ externalId }) => externalId),
      ["a"],
    );
  });
});
