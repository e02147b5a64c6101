import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createLogStore, type LogEpochRecord } from "../../../src/storage/logs.ts";
import { collections } from "../../../src/storage/names.ts";
import type { PositionRecord } from "../../../src/storage/position-records.ts";
import { derivePosition } from "../../../src/storage/derive-position.ts";
import { connectDatabase } from "../../support/database.ts";
import { openPositions } from "../../support/positions.ts";
import { unique } from "../../support/names.ts";

const { db, database: one, connect } = await connectDatabase();
const other = await connect();
const cluster = "cluster";

describe("the epochs of logs", () => {
  it("are 1, 2, … in the order in which the logs were met, and stay", async () => {
    const topic = unique("announcements");
    const logs = createLogStore(one);
    assert.equal(await logs.findEpoch({ topic, partition: 0 }, "first"), undefined);
    for (const [index, topicId] of ["first", "second", "third"].entries())
      assert.equal(
        await logs.beginEpoch({ topic, partition: 0 }, { topicId, clusterId: cluster, partitions: 3 }, 1),
        index + 1,
      );
    const others = createLogStore(other);
    assert.equal(await others.findEpoch({ topic, partition: 0 }, "second"), 2);
    assert.equal(
      await others.beginEpoch(
        { topic, partition: 0 },
        { topicId: "first", clusterId: cluster, partitions: 3 },
        1,
      ),
      1,
    );
    const [record] = await db
      .collection<LogEpochRecord>(collections.logs)
      .find({ kafka_topic: topic, epoch: 3 })
      .toArray();
    assert.equal(record?.kafka_topic_id, "third");
    assert.equal(record.cluster_id, cluster);
    assert.ok(record.first_seen_on instanceof Date);
    await logs.beginEpoch(
      { topic, partition: 0 },
      { topicId: "of no cluster", clusterId: null, partitions: 3 },
      1,
    );
    assert.deepEqual(
      (await others.findLogs(topic)).map(({ topicId, clusterId }) => [topicId, clusterId]),
      [
        ["first", cluster],
        ["second", cluster],
        ["third", cluster],
      ],
    );
  });

  it("have the partitions whose reading has begun, and those that came later", async () => {
    const topic = unique("events");
    const logs = createLogStore(one);
    const read = { topic, partition: 1 };
    await logs.beginEpoch(read, { topicId: "first", clusterId: cluster, partitions: 3 }, 1);
    await logs.findEpoch({ topic, partition: 2 }, "first");
    const [known] = await logs.findLogs(topic);
    assert.deepEqual(
      [0, 1, 2, 3].map((partition) => known?.hasBegun(partition)),
      [false, true, true, true],
    );
  });

  it("are never the same for two logs that processes meet at the same moment", async () => {
    const topic = unique("announcements");
    const stores = [createLogStore(one), createLogStore(other)];
    const ids = ["a", "b", "c", "d"];
    const met = await Promise.all(
      ids.flatMap((topicId) =>
        stores.map(async (logs) => ({
          topicId,
          epoch: await logs.beginEpoch(
            { topic, partition: 0 },
            { topicId, clusterId: null, partitions: 3 },
            1,
          ),
        })),
      ),
    );
    const byId = Map.groupBy(met, ({ topicId }) => topicId);
    const epochs = [...byId.values()].map((same) => new Set(same.map(({ epoch }) => epoch)));
    assert.ok(epochs.every((same) => same.size === 1));
    assert.deepEqual(epochs.flatMap((same) => [...same]).toSorted(), [1, 2, 3, 4]);
  });

  it("begin with that of the positions that were stored before ids were", async () => {
    const topic = unique("announcements");
    await db.collection<PositionRecord>(collections.positions).insertMany([
      { _id: { group: "g", topic, partition: 0 }, next_offset: 7, epoch: 3 },
      { _id: { group: "g", topic, partition: 1 }, next_offset: 7 },
    ]);
    const logs = createLogStore(one);
    assert.equal(
      await logs.beginEpoch({ topic, partition: 0 }, { topicId: "id", clusterId: null, partitions: 3 }, 1),
      3,
    );
    assert.equal(
      await logs.beginEpoch({ topic, partition: 0 }, { topicId: "next", clusterId: null, partitions: 3 }, 1),
      4,
    );
  });

  it("go on in a log that has lost records", async () => {
    const topic = unique("announcements");
    const [logs, others] = [createLogStore(one), createLogStore(other)];
    const cut = { topicId: "first", clusterId: null, partitions: 3 };
    await logs.beginEpoch({ topic, partition: 0 }, cut, 1);
    await logs.beginEpoch({ topic, partition: 0 }, { topicId: "second", clusterId: null, partitions: 3 }, 1);
    // Both partitions notice it at the same moment.
    assert.deepEqual(
      await Promise.all([
        logs.beginEpoch({ topic, partition: 0 }, cut, 2),
        others.beginEpoch({ topic, partition: 0 }, cut, 2),
      ]),
      [3, 3],
    );
    assert.equal(await logs.findEpoch({ topic, partition: 0 }, "first"), 3);
  });

  it("follow those of positions in another log, if the records of logs were lost", async () => {
    const topic = unique("announcements");
    await db.collection<PositionRecord>(collections.positions).insertOne({
      _id: { group: "g", topic, partition: 0 },
      next_offset: 7,
      epoch: 3,
      kafka_topic_id: "gone",
    });
    assert.equal(
      await createLogStore(one).beginEpoch(
        { topic, partition: 0 },
        { topicId: "id", clusterId: null, partitions: 3 },
        1,
      ),
      4,
    );
  });
});

describe("a position", () => {
  it("names the log that it is in", async () => {
    const key = { group: unique("group"), topic: "announcements", partition: 0 };
    const positions = openPositions(one);
    await positions.claim(key);
    const to = { offset: 5, epoch: 2, topicId: "id" };
    const batch = await positions.begin({ key, from: undefined, to });
    await batch.commit();
    await batch.end();
    const { movedOn, ...claimed } = (await positions.claim(key)) ?? {};
    assert.deepEqual(claimed, { ...to, isOurs: true });
    assert.ok(movedOn instanceof Date);
  });

  it("that is derived from stored topics has their epoch, its log and its cluster", async () => {
    const topic = unique("announcements");
    const logs = createLogStore(one);
    for (const topicId of ["first", "second"])
      await logs.beginEpoch({ topic, partition: 0 }, { topicId, clusterId: cluster, partitions: 3 }, 1);
    const source = { kind: "announcement", topic, partition: 0 };
    await db.collection(collections.topics).insertMany([
      { topic_id: unique("id"), topic_name: unique("name"), source: { ...source, offset: 9 } },
      { topic_id: unique("id"), topic_name: unique("name"), source: { ...source, offset: 4, epoch: 2 } },
    ]);
    assert.deepEqual(await derivePosition(one, { group: "g", topic, partition: 0 }), {
      offset: 5,
      epoch: 2,
      topicId: "second",
      clusterId: cluster,
    });
  });
});
