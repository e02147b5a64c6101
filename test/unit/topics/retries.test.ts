import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { allowAll } from "../../support/allow-all.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { TopicGoneError, UniqueViolationError, type TopicStore } from "../../../src/topics/stores.ts";
import type { TopicWrites } from "../../../src/topics/snapshot.ts";
import type { Topic } from "../../../src/topics/topic.ts";
import { createDefinition } from "./model.ts";

const at = new Date(0);
const createStored = (version: number): Topic => ({
  ...{ ...createDefinition("a"), id: "id", version, source: { kind: "http", user: "ann" } },
  ...{ createdOn: at, updatedOn: at },
});

/** A store with one topic, whose writes meet one failure after another. Each has changed the topic before. */
function createScene(failures: readonly (Error | "election")[]) {
  let stored = createStored(1);
  const left = [...failures];
  const written: number[] = [];
  const created: string[] = [];
  const changes: Partial<TopicWrites>[] = [];
  function fail(): void {
    const failure = left.shift();
    if (failure === undefined) return;
    stored = createStored(stored.version + 1);
    assert.ok(failure !== "election");
    throw failure;
  }
  const store: Partial<TopicStore> = {
    getPrimary: () => String(left.length),
    confirmReads(primary) {
      assert.equal(primary, String(left.length), "the primary that was read from");
      if (left[0] !== "election") return Promise.resolve(true);
      left.shift();
      stored = createStored(stored.version + 1);
      return Promise.resolve(false);
    },
    findByExternalIds: (ids) => Promise.resolve(ids.includes("a") ? [stored] : []),
    findByCombinations: () => Promise.resolve([]),
    findLatestRetired: () => Promise.resolve([]),
    async change({ updated }) {
      await Promise.resolve();
      fail();
      written.push(...updated.map(({ version }) => version));
    },
    async insert({ externalId }) {
      await Promise.resolve();
      fail();
      created.push(externalId);
    },
  };
  const service = createTopicService(store as TopicStore, {
    now: () => at,
    changed: (writes) => void changes.push(writes),
  });
  return { service, written, created, changes, left };
}

const violation = new UniqueViolationError(new Error("E11000"));
const gone = new TopicGoneError("gone");
const rename = {
  kind: "change",
  externalId: "a",
  definition: createDefinition("a", "x"),
} as const;
const same = { ...rename, definition: createDefinition("a") };

describe("a change that conflicts again and again", () => {
  it("is decided on what is stored then, made once, and reported once", async () => {
    const { service, written, changes } = createScene([gone, violation, gone]);
    const { results, events } = await service.change([rename], { user: "ann", check: allowAll });
    assert.deepEqual(written, [5]);
    assert.deepEqual([results.length, events.length, changes.length], [1, 1, 1]);
  });

  it("counts as made before only once that cannot be lost", async () => {
    const { service, written, left } = createScene(["election", "election"]);
    const { results, events } = await service.change([same], { user: "ann", check: allowAll });
    assert.deepEqual(
      [results.map(({ outcome }) => outcome), events, written, left],
      [["unchanged"], [], [], []],
    );
  });

  it("ends with an outage, and after ten conflicts", async () => {
    const away = new UnavailableError("away");
    for (const failures of [[gone, away], Array.from({ length: 10 }, () => gone)]) {
      const { service, written, changes, left } = createScene(failures);
      await assert.rejects(
        service.change([rename], { user: "ann", check: allowAll }),
        failures.length === 2 ? away : /10 times/u,
      );
      assert.deepEqual([written, changes, left], [[], [], []]);
    }
  });
});

describe("a creation that a unique index rejects although no topic conflicts by then", () => {
  it("is repeated, made once and reported once", async () => {
    const { service, created, changes } = createScene([violation, violation]);
    await service.create({ externalId: "b", name: "b" }, "ann");
    assert.deepEqual([created, changes.length], [["b"], 1]);
  });

  it("ends with an outage, and after ten rejections", async () => {
    const away = new UnavailableError("away");
    for (const failures of [[violation, away], Array.from({ length: 10 }, () => violation)]) {
      const { service, created, changes, left } = createScene(failures);
      await assert.rejects(
        service.create({ externalId: "b", name: "b" }, "ann"),
        failures.length === 2 ? away : /10 times/u,
      );
      assert.deepEqual([created, changes, left], [[], [], []]);
    }
  });
});
