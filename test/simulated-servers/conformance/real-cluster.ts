import { connect } from "node:net";

import type { Admin, Kafka } from "kafkajs";

import { createKafkaTopics, deleteKafkaTopic } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { testKafka } from "../../support/stack.ts";
import {
  startTwoBrokers,
  type ClusterOptions,
  type Node,
  type TwoBrokers,
} from "../../support/two-brokers.ts";
import type { CoordinatorKind } from "../kafka/coordination.ts";
import {
  describeTopic,
  findCoordinator,
  listOffset,
  type BrokerIndex,
  type ClusterUnderTest,
  type Settings,
} from "./cluster-under-test.ts";
import { describeGroup } from "./group-requests.ts";
import { commitExpired, deleteOffset, setOffset } from "./real-offsets.ts";
import { deleteAt } from "./real-topics.ts";
import { initialise } from "./transaction-requests.ts";
import { createWireClient, type WireClient } from "./wire-client.ts";

const internalTopics = { group: "__consumer_offsets", transaction: "__transaction_state" } as const;

interface RealClusterOptions extends TwoBrokers {
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly client: WireClient;
}

/** Two brokers of Kafka. */
class RealCluster implements ClusterUnderTest {
  readonly #options: RealClusterOptions;
  readonly #nodes: readonly [Node, Node];
  #isIsolated = false;

  constructor(options: RealClusterOptions) {
    this.#options = options;
    this.#nodes = [options.first, options.second];
  }

  readonly ask: ClusterUnderTest["ask"] = (broker, name, body) =>
    this.#options.client.ask(this.#nodes[broker].address, name, body);

  readonly toIndex = (nodeId: number): number => this.#nodes.findIndex(({ id }) => id === nodeId);

  readonly until: ClusterUnderTest["until"] = async (what, isMet) => {
    await until(what, isMet);
  };

  name(text: string): string {
    return unique(text);
  }

  kill(broker: BrokerIndex): Promise<void> {
    return this.#nodes[broker].kill();
  }

  start(broker: BrokerIndex): Promise<void> {
    return this.#nodes[broker].start();
  }

  async createTopic(topic: string, partitions: number, settings: Settings = {}): Promise<void> {
    const replicaAssignment = Array.from({ length: partitions }, (_, partition) => ({
      partition,
      replicas: this.#getReplicas(partition),
    }));
    // The records of scenes are older than a broker keeps them by default.
    const all = { "retention.ms": "-1", ...settings };
    const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
    await createKafkaTopics(this.#options.admin, { topic, replicaAssignment, configEntries });
    await this.#untilBothKnow(topic, partitions);
  }

  async grow(topic: string, count: number): Promise<void> {
    const { partitions } = await describeTopic(this, 0, topic);
    const assignments = Array.from({ length: count - partitions.length }, (_, index) =>
      this.#getReplicas(partitions.length + index),
    );
    await this.#options.admin.createPartitions({ topicPartitions: [{ topic, count, assignments }] });
    await this.#untilBothKnow(topic, count);
    // A broker names itself before it takes requests.
    for (let partition = partitions.length; partition < count; partition += 1) {
      const place = { broker: partition % 2 === 0 ? 0 : 1, topic, partition } as const;
      await until("its leader takes requests", async () => {
        const end = await listOffset(this, place, -1);
        return end?.error === "none";
      });
    }
  }

  async deleteTopic(topic: string): Promise<void> {
    if (this.#isIsolated) await deleteAt(this.#options.kafka, this.#options.first.id, topic);
    else await deleteKafkaTopic(this.#options, topic);
    await this.#untilBothKnow(topic, 0);
  }

  async deleteBefore(topic: string, partition: number, offset: number): Promise<void> {
    // kafkajs deletes no records of a topic that is not in its metadata.
    await this.#options.admin.fetchTopicOffsets(topic);
    await this.#options.admin.deleteTopicRecords({
      topic,
      partitions: [{ partition, offset: String(offset) }],
    });
  }

  async addCopy(topic: string, partition: number): Promise<void> {
    const [leader = this.#options.first.id] = this.#getReplicas(partition);
    await this.#reassign(topic, partition, [leader, this.#getOther(leader)]);
  }

  async moveLeader(topic: string, partition: number, to: BrokerIndex): Promise<void> {
    await this.#reassign(topic, partition, [this.#nodes[to].id]);
    await until("both brokers know the new leader", async () => {
      for (const broker of [0, 1] as const) {
        const { partitions } = await describeTopic(this, broker, topic);
        if (partitions[partition]?.leader !== to) return false;
      }
      return true;
    });
  }

  async moveCoordinator(kind: CoordinatorKind, to: BrokerIndex): Promise<void> {
    const { id } = this.#nodes[to];
    // A broker that has the only copy becomes the leader.
    for (const replicas of [[id], [id, this.#getOther(id)]])
      await this.#reassign(internalTopics[kind], 0, replicas);
    await until("both brokers name the coordinator", async () => {
      for (const broker of [0, 1] as const) {
        const found = await findCoordinator(this, broker, kind, "any");
        if (found.nodeId !== to) return false;
      }
      return true;
    });
    if (kind === "transaction") await initialise(this, unique("loaded"), { coordinator: to });
    else
      await until("it has loaded the groups", async () => {
        const [group] = await describeGroup(this, "any", to);
        return group?.error === "none";
      });
  }

  setOffset(groupId: string, topic: string, offset: number): Promise<void> {
    return setOffset(this.#options.addresses, groupId, topic, offset);
  }

  deleteOffset(groupId: string, topic: string): Promise<void> {
    return deleteOffset(this.#options.addresses, groupId, topic);
  }

  expireOffset(groupId: string, topic: string): Promise<void> {
    return commitExpired(this.#options.kafka, groupId, topic);
  }

  async loseEnd(topics: readonly string[], write: (leader: BrokerIndex) => Promise<void>): Promise<void> {
    await this.#options.first.kill();
    await this.#untilLeads(topics, 1);
    await write(1);
    await this.#options.second.kill();
    await this.#options.first.start();
    await this.#untilLeads(topics, 0);
    await this.#options.second.start();
  }

  async isolate(during: () => Promise<void>): Promise<void> {
    if (this.#options.controllerProxy === undefined)
      throw new Error("start the cluster with hasControllerProxy");
    this.#isIsolated = true;
    this.#options.controllerProxy.cut();
    await during();
    this.#options.controllerProxy.heal();
    this.#isIsolated = false;
  }

  #getReplicas(partition: number): number[] {
    return [this.#nodes[partition % 2 === 0 ? 0 : 1].id];
  }

  #getOther(id: number): number {
    const [first, second] = this.#nodes;
    return id === first.id ? second.id : first.id;
  }

  async #untilBothKnow(topic: string, partitions: number): Promise<void> {
    await until("both brokers know the topic", async () => {
      for (const broker of this.#isIsolated ? ([0] as const) : ([0, 1] as const))
        if ((await describeTopic(this, broker, topic)).partitions.length !== partitions) return false;
      return true;
    });
  }

  /** The first one leads. */
  async #reassign(topic: string, partition: number, replicas: number[]): Promise<void> {
    const { admin } = this.#options;
    await admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition, replicas }] }],
    });
    await until("the copies are complete", async () => {
      const { topics } = await admin.listPartitionReassignments({});
      return topics.length === 0;
    });
  }

  /** A broker names itself before it takes requests. */
  async #untilLeads(topics: readonly string[], leader: BrokerIndex): Promise<void> {
    for (const topic of topics)
      await until(`broker ${leader} leads ${topic}`, async () => {
        const { partitions } = await describeTopic(this, leader, topic);
        const place = { broker: leader, topic };
        return partitions[0]?.leader === leader && (await listOffset(this, place, -1))?.error === "none";
      });
  }
}

/** Starts two brokers for this file, and returns what runs a scene on them. */
export async function startRealCluster(options: ClusterOptions = {}) {
  const brokers = await startTwoBrokers(options);
  const { kafka, admin } = testKafka(brokers.addresses);
  await admin.connect();

  return async function run<T>(scene: (cluster: ClusterUnderTest) => Promise<T>): Promise<T> {
    const client = createWireClient(({ host, port, onConnect }) => connect({ host, port }, onConnect));
    try {
      return await scene(new RealCluster({ ...brokers, kafka, admin, client }));
    } finally {
      client.close();
    }
  };
}
