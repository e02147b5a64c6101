import { connect } from "node:net";

import { createKafkaTopics, deleteKafkaTopic } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { testKafka } from "../../support/stack.ts";
import { startTwoBrokers, type ClusterOptions } from "../../support/two-brokers.ts";
import {
  describeTopic,
  findCoordinator,
  listOffset,
  type BrokerIndex,
  type ClusterUnderTest,
} from "./cluster-under-test.ts";
import { describeGroup } from "./group-requests.ts";
import { commitExpired, deleteOffset, setOffset } from "./real-offsets.ts";
import { deleteAt } from "./real-topics.ts";
import { initialise } from "./transaction-requests.ts";
import { createWireClient } from "./wire-client.ts";

const internalTopics = { group: "__consumer_offsets", transaction: "__transaction_state" } as const;

/** Starts two brokers for this file, and returns what runs a scene on them. */
export async function startRealCluster(options: ClusterOptions = {}) {
  const { first, second, addresses, controllerProxy } = await startTwoBrokers(options);
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
    let isIsolated = false;
    const untilBothKnow = (topic: string, partitions: number): Promise<true> =>
      until("both brokers know the topic", async () => {
        for (const broker of isIsolated ? ([0] as const) : ([0, 1] as const))
          if ((await describeTopic(cluster, broker, topic)).partitions.length !== partitions) return false;
        return true;
      });
    /** The first one leads. */
    const reassign = async (topic: string, partition: number, replicas: number[]): Promise<void> => {
      await admin.alterPartitionReassignments({
        topics: [{ topic, partitionAssignment: [{ partition, replicas }] }],
      });
      await until("the copies are complete", async () => {
        const { topics } = await admin.listPartitionReassignments({});
        return topics.length === 0;
      });
    };
    /** A broker names itself before it takes requests. */
    const untilLeads = async (topics: readonly string[], leader: BrokerIndex): Promise<void> => {
      for (const topic of topics)
        await until(`broker ${leader} leads ${topic}`, async () => {
          const { partitions } = await describeTopic(cluster, leader, topic);
          const place = { broker: leader, topic };
          return partitions[0]?.leader === leader && (await listOffset(cluster, place, -1))?.error === "none";
        });
    };
    const getOther = (id: number): number => (id === first.id ? second.id : first.id);
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
        if (isIsolated) await deleteAt(kafka, first.id, topic);
        else await deleteKafkaTopic({ kafka, admin }, topic);
        await untilBothKnow(topic, 0);
      },
      async deleteBefore(topic, partition, offset) {
        // kafkajs deletes no records of a topic that is not in its metadata.
        await admin.fetchTopicOffsets(topic);
        await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
      },
      async addCopy(topic, partition) {
        const [leader = first.id] = getReplicas(partition);
        await reassign(topic, partition, [leader, getOther(leader)]);
      },
      async moveLeader(topic, partition, to) {
        await reassign(topic, partition, [nodes[to].id]);
        await until("both brokers know the new leader", async () => {
          for (const broker of [0, 1] as const) {
            const { partitions } = await describeTopic(cluster, broker, topic);
            if (partitions[partition]?.leader !== to) return false;
          }
          return true;
        });
      },
      async moveCoordinator(kind, to) {
        const { id } = nodes[to];
        // A broker that has the only copy becomes the leader.
        for (const replicas of [[id], [id, getOther(id)]]) await reassign(internalTopics[kind], 0, replicas);
        await until("both brokers name the coordinator", async () => {
          for (const broker of [0, 1] as const) {
            const found = await findCoordinator(cluster, broker, kind, "any");
            if (found.nodeId !== to) return false;
          }
          return true;
        });
        if (kind === "transaction") await initialise(cluster, unique("loaded"), { coordinator: to });
        else
          await until("it has loaded the groups", async () => {
            const [group] = await describeGroup(cluster, "any", to);
            return group?.error === "none";
          });
      },
      setOffset: (groupId, topic, offset) => setOffset(addresses, groupId, topic, offset),
      deleteOffset: (groupId, topic) => deleteOffset(addresses, groupId, topic),
      expireOffset: (groupId, topic) => commitExpired(kafka, groupId, topic),
      async loseEnd(topics, write) {
        await first.kill();
        await untilLeads(topics, 1);
        await write(1);
        await second.kill();
        await first.start();
        await untilLeads(topics, 0);
        await second.start();
      },
      async isolate(during) {
        if (controllerProxy === undefined) throw new Error("start the cluster with hasControllerProxy");
        isIsolated = true;
        controllerProxy.cut();
        await during();
        controllerProxy.heal();
        isIsolated = false;
      },
      kill: (broker) => nodes[broker].kill(),
      start: (broker) => nodes[broker].start(),
      async until(what, isMet) {
        await until(what, isMet);
      },
    };
    // Awaited here, before the resources are released.
    return await scene(cluster);
  };
}
