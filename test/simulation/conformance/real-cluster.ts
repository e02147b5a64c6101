import { connect } from "node:net";

import { createKafkaTopics, deleteKafkaTopic } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { testKafka } from "../../support/stack.ts";
import { startTwoBrokers } from "../../support/two-brokers.ts";
import { describeTopic, type ClusterUnderTest } from "./cluster-under-test.ts";
import { createWireClient } from "./wire-client.ts";

/** Starts two brokers for this file, and returns what runs a scene on them. */
export async function startRealCluster() {
  const { first, second, addresses } = await startTwoBrokers();
  const { kafka, admin } = testKafka(addresses);
  await admin.connect();
  const nodes = [first, second] as const;
  const getReplicas = (partition: number) => [partition % 2 === 0 ? first.id : second.id];

  return async function run<T>(scene: (cluster: ClusterUnderTest) => Promise<T>): Promise<T> {
    const client = createWireClient(({ host, port, onConnect }) => connect({ host, port }, onConnect));
    await using resources = new AsyncDisposableStack();
    resources.defer(() => {
      client.close();
    });
    const untilBothKnow = (topic: string, partitions: number): Promise<true> =>
      until("both brokers know the topic", async () => {
        for (const broker of [0, 1] as const)
          if ((await describeTopic(cluster, broker, topic)).partitions.length !== partitions) return false;
        return true;
      });
    const reassign = (topic: string, partition: number, replicas: number[]): Promise<unknown> =>
      admin.alterPartitionReassignments({
        topics: [{ topic, partitionAssignment: [{ partition, replicas }] }],
      });
    const cluster: ClusterUnderTest = {
      ask: (broker, name, body) => client.ask(nodes[broker].address, name, body),
      name: unique,
      toIndex: (nodeId) => nodes.findIndex(({ id }) => id === nodeId),
      async createTopic(topic, partitions, settings = {}) {
        const replicaAssignment = Array.from({ length: partitions }, (_, partition) => ({
          partition,
          replicas: getReplicas(partition),
        }));
        // The records of scenes are older than a broker keeps them by default.
        const all = { "retention.ms": "-1", ...settings };
        const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
        await createKafkaTopics(admin, { topic, replicaAssignment, configEntries });
        await untilBothKnow(topic, partitions);
      },
      async grow(topic, count) {
        const { partitions } = await describeTopic(cluster, 0, topic);
        const assignments = Array.from({ length: count - partitions.length }, (_, index) =>
          getReplicas(partitions.length + index),
        );
        await admin.createPartitions({ topicPartitions: [{ topic, count, assignments }] });
        await until("its partitions accept requests", async () => admin.fetchTopicOffsets(topic));
        await untilBothKnow(topic, count);
      },
      async deleteTopic(topic) {
        await deleteKafkaTopic({ kafka, admin }, topic);
        await untilBothKnow(topic, 0);
      },
      async deleteBefore(topic, partition, offset) {
        // kafkajs deletes no records of a topic that is not in its metadata.
        await admin.fetchTopicOffsets(topic);
        await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
      },
      async addCopy(topic, partition) {
        const leader = getReplicas(partition);
        const replicas = [...leader, ...nodes.map(({ id }) => id).filter((id) => !leader.includes(id))];
        await reassign(topic, partition, replicas);
        await until("the copy is complete", async () => {
          const { topics } = await admin.listPartitionReassignments({});
          return topics.length === 0;
        });
      },
      async moveLeader(topic, partition, to) {
        await reassign(topic, partition, [nodes[to].id]);
        await until("both brokers know the new leader", async () => {
          for (const broker of [0, 1] as const) {
            const { partitions } = await describeTopic(cluster, broker, topic);
            if (partitions[partition]?.leader !== to) return false;
          }
          const { topics } = await admin.listPartitionReassignments({});
          return topics.length === 0;
        });
      },
      async until(what, isMet) {
        await until(what, isMet);
      },
    };
    // Awaited here, before the resources are released.
    return await scene(cluster);
  };
}
