import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createBackfillStore } from "../../../src/storage/backfills.ts";
import { createStoredBackfill } from "../../support/backfills.ts";
import { connectDatabase } from "../../support/database.ts";

const { database } = await connectDatabase();
const store = createBackfillStore(database);
const at = (second: number): Date => new Date(1_000 * second);
const end = { state: "done", reason: null, endedOn: at(50) } as const;

describe("stored backfills", () => {
  it("are those of the namespaces, the latest first", async () => {
    const all = [1, 2, 3].map((second) => ({
      ...createStoredBackfill(`t${second}`, second === 2 ? "other" : "own"),
      requestedOn: at(second),
      startsOn: at(1_000),
    }));
    for (const one of all) assert.ok(await store.insert(one));
    const [first, , third] = all;
    const namespaces = [{ namespace: "own", below: false }];
    assert.deepEqual(await store.list({ namespaces, limit: 10 }), [third, first]);
    assert.deepEqual(await store.list({ namespaces, limit: 1 }), [third]);
    assert.equal(await store.countRunning(), 3);
    for (const { id } of all) await store.end(id, end);
    assert.equal(await store.countRunning(), 0);
  });

  it("are one per topic until it has ended", async () => {
    const [one, other] = [createStoredBackfill("same", "n"), createStoredBackfill("same", "n")];
    assert.deepEqual(await Promise.all([store.insert(one), store.insert(one)]), [true, true]);
    assert.equal(await store.insert(other), false);
    assert.equal((await store.end(one.id, end))?.state, "done");
    assert.equal((await store.end(one.id, { ...end, state: "failed", reason: "late" }))?.state, "done");
    assert.ok(await store.insert(other));
    await store.end(other.id, end);
  });

  it("have one owner at a time, from their start on, who alone can store the progress", async () => {
    const one = { ...createStoredBackfill("leased", "n"), startsOn: at(10) };
    await store.insert(one);
    assert.equal(await store.lease("a", at(9), at(20)), undefined);
    assert.equal((await store.lease("a", at(10), at(20)))?.id, one.id);
    assert.equal(await store.lease("b", at(19), at(40)), undefined);
    assert.equal((await store.lease("b", at(20), at(40)))?.id, one.id);
    const ranges = [{ partition: 0, from: 1, to: 9, epoch: 1, topicId: null, position: 5, copies: 2 }];
    assert.equal(await store.keep(one.id, "a", at(60), []), false);
    assert.equal(await store.keep(one.id, "b", at(60), ranges), true);
    assert.deepEqual((await store.find(one.id))?.ranges, ranges);
    await store.end(one.id, { ...end, state: "cancelled" });
    assert.equal(await store.keep(one.id, "b", at(60), ranges), false);
    assert.equal(await store.lease("b", at(99), at(100)), undefined);
  });
});
