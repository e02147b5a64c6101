import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Position, PartitionLog } from "@topicsync/kafka";
import { findOtherCluster, OtherClusterError, requireSameCluster } from "../../../consumers/clusters.ts";

const partition = { topic: "announcements", partition: 0 };
const log: PartitionLog = {
  low: 0,
  high: 20,
  topicId: "two",
  clusterId: "B",
  leader: 1,
  leaderEpoch: 0,
  partitions: 2,
};
const stored: Position = { offset: 10, epoch: 1, topicId: "one", clusterId: "A" };

/** The cluster that is found, where these clusters of topic ids are known. */
const find = (
  position: Position | undefined,
  there: Partial<PartitionLog> = {},
  {
    known = {},
    isInKafka = false,
    begun = [0],
  }: { known?: Record<string, string>; isInKafka?: boolean; begun?: readonly number[] } = {},
) =>
  findOtherCluster(
    { partition, stored: position, log: { ...log, ...there }, isInKafka },
    {
      findLogs: () =>
        Promise.resolve(
          Object.entries(known).map(([topicId, clusterId]) => ({
            topicId,
            clusterId,
            hasBegun: (one: number) => begun.includes(one),
          })),
        ),
    },
  );

describe("a position", () => {
  it("belongs to another cluster if topic and cluster are others", async () => {
    assert.equal(await find(stored), "A");
    // Brokers without topic ids.
    assert.equal(await find({ offset: 10, epoch: 1, clusterId: "A" }, { topicId: undefined }), "A");
    assert.equal(await find(stored, { topicId: undefined }), "A");
  });

  it("belongs to the log that is there if that needs no decision", async () => {
    const cases: [why: string, position: Position | undefined, there: Partial<PartitionLog>][] = [
      ["the topic was created again in the same cluster", stored, { clusterId: "A" }],
      ["the cluster was renamed, and has the same topic", stored, { topicId: "one" }],
      ["the log never had a record", stored, { high: 0 }],
      ["the brokers tell no cluster", stored, { clusterId: null }],
      ["the position names no cluster", { offset: 10, epoch: 1, topicId: "one" }, {}],
      ["a person set it", { offset: 10, epoch: 1 }, {}],
      ["nothing was read before", undefined, {}],
    ];
    for (const [why, position, there] of cases) assert.equal(await find(position, there), undefined, why);
  });

  it("that is stored in Kafka is missing in another cluster, although events were read", async () => {
    const isInKafka = true;
    assert.equal(await find(undefined, {}, { isInKafka, known: { one: "A" } }), "A");
    assert.equal(await find(undefined, {}, { isInKafka, known: { one: "A", other: "B" } }), undefined);
    // Only other partitions were read in this cluster, because they were empty, or a person has set them.
    const others = { isInKafka, known: { one: "A", other: "B" }, begun: [1] };
    assert.equal(await find(undefined, {}, others), "A");
    assert.equal(await find(undefined, {}, { isInKafka }), undefined);
    assert.equal(await find(undefined, { high: 0 }, { isInKafka, known: { one: "A" } }), undefined);
    // A person, or a tool that mirrors offsets without their metadata, has set it for this cluster.
    assert.equal(await find({ offset: 3, epoch: 1 }, {}, { isInKafka, known: { one: "A" } }), undefined);
  });

  it("of another cluster has an error that says which command to run", async () => {
    const compared = { partition, stored, log, isInKafka: false };
    const logs = { findLogs: () => Promise.resolve([]) };
    await assert.rejects(
      requireSameCluster(compared, { logs, consumer: "announcements" }),
      (error) =>
        error instanceof OtherClusterError &&
        /cluster A, .* to B: .*"topicsync positions set announcements"/.test(error.message),
    );
  });
});
