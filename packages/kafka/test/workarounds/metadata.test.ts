import assert from "node:assert/strict";
import { it } from "node:test";

import { createWriter } from "../../protocol/format.ts";
import { keepLeaderlessPartitions } from "../../workarounds/metadata.ts";
import { loadPrivate } from "../../workarounds/patch.ts";

type Class = new (options: object) => Record<string, (...args: unknown[]) => Promise<unknown>>;

interface Sent {
  readonly request: { encode(): Promise<{ readonly buffer: Buffer }> };
  readonly response: {
    decode(bytes: Buffer): Promise<object>;
    parse(decoded: object): Promise<unknown>;
  };
}

const metadataKey = 3;
const metadataVersion = 5;
const leaderNotAvailable = 5;

/** A response of one topic. Its partition 0 is led by the broker 1, its partition 1 has no leader. */
function createResponse(): Buffer {
  const writer = createWriter(false).int32(0);
  writer.list([1], (id) => writer.int32(id).text("host").int32(9092).text(null));
  writer
    .text("cluster")
    .int32(1)
    .list(["t"], (name) => {
      writer
        .int16(0)
        .text(name)
        .boolean(false)
        .list([1, -1], (leader) => {
          writer
            .int16(leader < 0 ? leaderNotAvailable : 0)
            .int32(leader < 0 ? 1 : 0)
            .int32(leader);
          for (const nodes of [[1], [1], []]) writer.list(nodes, (id) => writer.int32(id));
        });
    });
  return writer.toBuffer();
}

/** A broker of kafkajs, and the requests that it sends. */
function createBroker() {
  const requested: Buffer[] = [];
  const connectionPool = {
    host: "unused",
    port: 9092,
    async send({ request, response }: Sent) {
      requested.push((await request.encode()).buffer);
      return response.parse(await response.decode(createResponse()));
    },
  };
  const silent = { namespace: () => silent, debug: () => undefined, error: () => undefined };
  const BrokerClass = loadPrivate("broker/index.js") as Class;
  const { lookup } = loadPrivate("protocol/requests/index.js") as { lookup: (versions: object) => unknown };
  const versions = { [metadataKey]: { minVersion: 0, maxVersion: metadataVersion } };
  const broker = new BrokerClass({ connectionPool, logger: silent });
  return { broker: Object.assign(broker, { versions, lookupRequest: lookup(versions) }), requested };
}

/** A cluster of kafkajs that knows these leaders of the partitions of a topic. */
function createCluster(...leaders: number[]) {
  const asked: string[] = [];
  const ClusterClass = loadPrivate("cluster/index.js") as { readonly prototype: object };
  const cluster = Object.assign(
    Object.create(ClusterClass.prototype) as {
      findLeaderForPartitions(topic: string, partitions: readonly number[]): object;
      fetchTopicsOffset(topics: readonly object[]): Promise<object>;
    },
    {
      findTopicPartitionMetadata: () => leaders.map((leader, partitionId) => ({ partitionId, leader })),
      findBroker({ nodeId }: { readonly nodeId: string }) {
        asked.push(nodeId);
        const listOffsets = ({ topics }: { readonly topics: readonly { partitions: object[] }[] }) => ({
          responses: topics.map(({ partitions, ...rest }) => ({
            ...rest,
            partitions: partitions.map((one) => ({ ...one, offset: "7" })),
          })),
        });
        return Promise.resolve({ listOffsets });
      },
    },
  );
  const fetchOffsets = (...partitions: number[]): Promise<object> =>
    cluster.fetchTopicsOffset([
      { topic: "t", fromBeginning: true, partitions: partitions.map((partition) => ({ partition })) },
    ]);
  return { cluster, asked, fetchOffsets };
}

it("knows all partitions of a topic, where stock kafkajs fails for one without a leader", async () => {
  const { broker, requested } = createBroker();
  await assert.rejects(async () => broker["metadata"]?.(["t"]), { type: "LEADER_NOT_AVAILABLE" });
  await broker["metadata"]?.([]).catch(() => undefined);
  assert.equal(requested[1]?.readInt32BE(), -1, "kafkajs no longer asks for all topics");

  const stock = createCluster(1, -1);
  assert.deepEqual(stock.cluster.findLeaderForPartitions("t", [0, 1]), { "1": [0], "-1": [1] });
  await stock.fetchOffsets(0, 1);
  assert.deepEqual(stock.asked.toSorted(), ["-1", "1"], "kafkajs no longer looks for the broker -1");

  keepLeaderlessPartitions();
  const known = (await broker["metadata"]?.(["t"])) as
    { readonly topicMetadata: readonly object[] } | undefined;
  const nodes = { leaderEpoch: -1, replicas: [1], isr: [1], offlineReplicas: [] };
  assert.deepEqual(known?.topicMetadata, [
    {
      topicErrorCode: 0,
      topic: "t",
      isInternal: false,
      partitionMetadata: [
        { partitionErrorCode: 0, partitionId: 0, leader: 1, ...nodes },
        { partitionErrorCode: leaderNotAvailable, partitionId: 1, leader: -1, ...nodes },
      ],
    },
  ]);
  await broker["metadata"]?.([]);
  assert.equal(requested.at(-1)?.readInt32BE(), 0, "it asks for the brokers only");
});

it("sends nothing to a partition without a leader, and looks for no offset of it", async () => {
  keepLeaderlessPartitions();
  const { cluster, asked, fetchOffsets } = createCluster(1, -1);
  assert.deepEqual(cluster.findLeaderForPartitions("t", [0]), { "1": [0] });
  assert.throws(() => cluster.findLeaderForPartitions("t", [0, 1]), {
    type: "LEADER_NOT_AVAILABLE",
    retriable: true,
    message: "partition 1 of t has no leader",
  });
  assert.deepEqual(await fetchOffsets(0, 1), [{ topic: "t", partitions: [{ partition: 0, offset: "7" }] }]);
  assert.deepEqual(asked, ["1"]);
  assert.deepEqual(await fetchOffsets(1), [{ topic: "t", fromBeginning: true, partitions: [] }]);
  // kafkajs does not know it: another workaround makes the member join again.
  assert.deepEqual(await fetchOffsets(2), []);
});
