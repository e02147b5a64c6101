import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  createTopicDetailsStore,
  openDetailsCollections,
  writeDetails,
} from "../../../../src/storage/topics/details.ts";
import type { DescriptionRecord } from "../../../../src/storage/topics/descriptions.ts";
import type { DetailsRecord } from "../../../../src/storage/topics/details-records.ts";
import {
  noDetails,
  toDetails,
  toNextDetails,
  type StoredDetails,
} from "../../../../src/topics/details/details.ts";
import { DetailsConflictError } from "../../../../src/topics/details/store.ts";
import { connectDatabase, repeatWithoutLimit } from "../../../support/database.ts";

const { db, database } = await connectDatabase();
repeatWithoutLimit();
const store = createTopicDetailsStore(database, { historyRetentionDays: undefined });
const records = db.collection<DetailsRecord>("topicsync_topic_details");
const descriptions = db.collection<DescriptionRecord>("topicsync_topic_descriptions");

const at = new Date("2026-11-25T20:00:00Z");

const createDetails = (externalId: string, change: Partial<StoredDetails> = {}): StoredDetails => ({
  ...toNextDetails(undefined, {
    topic: { externalId, name: "Net", namespace: "space" },
    ...{ details: noDetails, by: "ann", at },
  }),
  ...change,
});

async function collect(stream: AsyncIterable<StoredDetails>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { externalId } of stream) ids.push(externalId);
  return ids;
}

describe("stored details", () => {
  it("are read as they were written, and store nothing that says nothing", async () => {
    const full = createDetails("full.$é", {
      ...toDetails({
        ...{ owner: "$ne", description: "d", contact: "c", tags: ["b", "a"] },
        labels: { a: "", "b.c/d": "x" },
        ...{ lifecycle: "deprecated", sunset: "2027-01-01", replacedBy: "other" },
        ...{ consumers: [{ name: "n", contact: "c" }], protected: true },
      }),
      membership: {
        ...{ set: "assurance", path: "topics/a.yaml" },
        applied: { version: 3, digest: "0f", plan: "p1", on: at },
      },
    });
    await store.replace(full, []);
    const adopted = createDetails("adopted", {
      membership: { set: "assurance", path: undefined, applied: undefined },
    });
    await store.replace(adopted, []);
    assert.deepEqual(await store.find(["full.$é", "missing"]), [full]);
    assert.deepEqual(await store.find(["adopted"]), [adopted]);
    assert.deepEqual(await records.findOne({ _id: "adopted" }), {
      ...{ _id: "adopted", version: 1, namespace: "space", lifecycle: "active" },
      ...{ words: ["net", "adopted"], set: "assurance", changed_on: at, changed_by: "ann" },
    });
  });

  it("are written once per version, whoever tries", async () => {
    for (const version of [1, 2, 3]) {
      const attempts = await Promise.allSettled(
        [1, 2, 3, 4].map((n) =>
          store.replace(createDetails("contested", { version, owner: `owner ${n}` }), []),
        ),
      );
      const won = attempts.filter(({ status }) => status === "fulfilled");
      assert.equal(won.length, 1);
      for (const one of attempts)
        if (one.status === "rejected") assert.ok(one.reason instanceof DetailsConflictError, one.reason);
    }
    await assert.rejects(store.replace(createDetails("contested", { version: 5 }), []), DetailsConflictError);
    await assert.rejects(store.replace(createDetails("never", { version: 2 }), []), DetailsConflictError);
    assert.deepEqual(await store.find(["never"]), []);
  });

  it("are written in a transaction with others, all or none", async () => {
    await store.replace(createDetails("in-1"), []);
    const session = database.startSession();
    assert.ok(session);
    const write = (...details: StoredDetails[]): Promise<void> =>
      database.runTransaction(session, () =>
        writeDetails(openDetailsCollections(database, undefined), { details }, { session }),
      );
    try {
      await write(createDetails("in-1", { version: 2 }), createDetails("in-2"));
      await assert.rejects(
        write(createDetails("in-1", { version: 3 }), createDetails("in-2")),
        DetailsConflictError,
      );
      await assert.rejects(
        write(createDetails("in-3"), createDetails("in-1", { version: 4 })),
        DetailsConflictError,
      );
    } finally {
      await session.endSession();
    }
    const found = await store.find(["in-1", "in-2", "in-3"]);
    assert.deepEqual(found.map(({ externalId, version }) => [externalId, version]).toSorted(), [
      ["in-1", 2],
      ["in-2", 1],
    ]);
  });

  it("stay as they were, without an entry in the history, if they cannot be replaced", async () => {
    const first = createDetails("kept");
    await store.replace(first, []);
    const replaced = [{ details: first, topicId: undefined, endedOn: at }];
    await assert.rejects(store.replace({ ...first, version: 3 }, replaced), DetailsConflictError);
    assert.equal(await descriptions.countDocuments({ topic_id: "kept" }), 0);
    await createTopicDetailsStore(database, { historyRetentionDays: 2 }).replace(
      { ...first, version: 2 },
      replaced,
    );
    const [found] = await descriptions.find({ topic_id: "kept" }).toArray();
    assert.deepEqual([found?.valid_to, found?.expires_on], [at, new Date(at.getTime() + 2 * 24 * 3_600_000)]);
  });

  it("are listed by set, in the order of external ids", async () => {
    for (const externalId of ["s-2", "s-1", "s-3"])
      await store.replace(
        createDetails(externalId, { membership: { set: externalId < "s-3" ? "own" : "other" } }),
        [],
      );
    assert.deepEqual(await collect(store.streamSet("own")), ["s-1", "s-2"]);
  });
});
