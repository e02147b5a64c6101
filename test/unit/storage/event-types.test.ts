import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Event } from "../../../schemas/pick.ts";
import { learningLimits } from "../../../src/event-types/event-type.ts";
import { EventLearner, type TypeChanges } from "../../../src/event-types/learner.ts";
import { createEventTypeService } from "../../../src/event-types/service.ts";
import { createEventTypeStore } from "../../../src/storage/event-types.ts";
import { connectDatabase, connectProxiedDatabase } from "../../support/database.ts";

const { db, database, connect } = await connectDatabase();
const store = createEventTypeStore(database);
const service = createEventTypeService(store, { keepsValues: true });
const records = db.collection<{ _id: string }>("topicsync_event_types");

function learn(events: readonly Event[], keepsValues = true): TypeChanges[] {
  const learner = new EventLearner({ keepsValues, isLimited: false });
  for (const event of events) learner.learn(event);
  return [...learner.take()];
}

const recordAll = async (changes: readonly TypeChanges[], by = service): Promise<void> => {
  for (const one of changes) await by.record(one);
};

describe("stored event types", () => {
  it("add what several instances have seen at the same time", async () => {
    const others = await Promise.all([1, 2, 3].map(async () => createEventTypeStore(await connect())));
    const instances = others.map((one) => createEventTypeService(one, { keepsValues: true }));
    const seen = (n: number) =>
      Array.from({ length: 20 }, () => ({ eventType: "A", [`only${n}`]: n, all: "x" }));
    await Promise.all(instances.map((one, n) => recordAll(learn(seen(n)), one)));
    const found = await service.find("A");
    assert.deepEqual([found?.events, found?.sampled], [60, 60]);
    assert.deepEqual(
      found?.paths.map(({ path, events, values }) => [path.join("."), events, values]).toSorted(),
      [
        ["all", 60, ["x"]],
        ["eventType", 60, ["A"]],
        ["only0", 20, ["0"]],
        ["only1", 20, ["1"]],
        ["only2", 20, ["2"]],
      ],
    );
    assert.deepEqual(await service.list(), [
      {
        name: "A",
        events: 60,
        sampled: 60,
        pathCount: 5,
        isComplete: true,
        sampledSince: found.firstOn,
        firstOn: found.firstOn,
        lastOn: found.lastOn,
      },
    ]);
  });

  it("are counted one by one, since a store's statistics may be wrong", async () => {
    const { database: proxied, proxy } = await connectProxiedDatabase();
    const types = createEventTypeStore(proxied);
    const counted = createEventTypeService(types, { keepsValues: true });
    await recordAll(learn([{ eventType: "A" }, { eventType: "B" }, { eventType: "C" }]), counted);
    proxy.fail({ command: "count", executed: true, answer: { n: 7 }, times: 10 });
    assert.deepEqual([await types.countUpTo(10), await types.countUpTo(2)], [3, 2]);
    proxy.clear();
  });

  it("keep hostile names as they are, in a document of limited size", async () => {
    const names = ["", "a.b", "$set", "__proto__", "\u0000", "constructor", "_id"];
    const json = `{"eventType": "$hostile.type\\u0000", ${names.map((name) => `${JSON.stringify(name)}: {"$inc": 1}`).join()}}`;
    for (let round = 0; round < 3; round += 1) await recordAll(learn([JSON.parse(json) as Event]));
    const found = await service.find("$hostile.type\u0000");
    assert.deepEqual(
      found?.paths.map(({ path, events }) => [path, events]),
      [
        [["eventType"], 3],
        ...names.flatMap((name) => [
          [[name], 3],
          [[name, "$inc"], 3],
        ]),
      ],
    );
    for (let round = 0; round < 8; round += 1)
      await recordAll(
        learn(
          Array.from({ length: 10 }, (_, n) => ({
            eventType: "large",
            ...Object.fromEntries(
              Array.from({ length: 20 }, (_, m) => [
                `${"x".repeat(50)} ${m}`,
                Object.fromEntries(
                  Array.from({ length: 40 }, (_, k) => [
                    `${"€".repeat(50)} ${round} ${k}`,
                    "v".repeat(n + m),
                  ]),
                ),
              ]),
            ),
          })),
        ),
      );
    const large = await service.find("large");
    assert.equal(large?.paths.length, learningLimits.pathsPerType);
    assert.equal(large.isComplete, false);
    const [stored] = await records.find({ _id: "large" }).toArray();
    assert.ok(JSON.stringify(stored).length < 4_000_000);
  });

  it("forget what was seen before the last 100,000 sampled events", async () => {
    const [changes] = learn([{ eventType: "B", old: 1 }]);
    assert.ok(changes !== undefined);
    const rest = { ...changes, events: 100_000, sampled: 100_000 };
    await service.record(rest);
    const [later] = learn([{ eventType: "B", new: 1 }]);
    assert.ok(later !== undefined);
    await service.record(later);
    const paths = async () => (await service.find("B"))?.paths.map(({ path }) => path[0]).toSorted();
    assert.deepEqual(await paths(), ["eventType", "new", "old"]);
    await service.record({ ...later, sampled: 100_000 });
    await service.record(later);
    assert.deepEqual(await paths(), ["eventType", "new"]);
    const found = await service.find("B");
    assert.equal(found?.sampled, 100_002);
    // All events are counted, not only those that are remembered.
    assert.equal(found.events, 100_003);
  });

  it("lose their values when values are not kept any more", async () => {
    const seen = Array.from({ length: 20 }, () => ({ eventType: "C", state: "on" }));
    await recordAll(learn(seen));
    assert.deepEqual((await service.find("C"))?.paths[1]?.values, ["on"]);
    await recordAll(learn(seen, false), createEventTypeService(store, { keepsValues: false }));
    assert.equal((await service.find("C"))?.paths[1]?.values, undefined);
    assert.equal((await service.find("C"))?.sampled, 40);
  });

  it("are at most 1,000, and can be forgotten", async () => {
    const missing = learningLimits.types - (await store.countUpTo(2_000));
    const [changes] = learn([{ eventType: "first" }]);
    assert.ok(changes !== undefined);
    await records.insertMany(
      Array.from({ length: missing }, (_, n) => ({ _id: `type ${n}`, version: 1, generations: [] })),
    );
    await service.record({ ...changes, name: "one too many" });
    assert.equal(await service.find("one too many"), undefined);
    await service.record({ ...changes, name: "A" });
    assert.equal((await service.find("A"))?.events, 61);
    assert.equal(await service.forget("A"), true);
    assert.equal(await service.forget("A"), false);
    await service.record({ ...changes, name: "one too many" });
    assert.equal((await service.find("one too many"))?.events, 1);
  });
});
