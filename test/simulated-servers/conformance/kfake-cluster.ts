import { createHash } from "node:crypto";
import { connect } from "node:net";

import type { Admin } from "kafkajs";

import { createKafkaTopics, deleteRecordsBefore } from "../../support/kafka-topics.ts";
import { startKfake, type KfakeProcess } from "../../support/kfake.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { testKafka } from "../../support/stack.ts";
import type { BrokerIndex, ClusterUnderTest, Settings } from "./cluster-under-test.ts";
import { createWireClient, type WireClient } from "./wire-client.ts";

/** Only the last broker creates topics, as the controller. */
const toNodeId = (broker: number): number => 1 - broker;

/** kfake chooses the coordinator of a group or a transactional id by a hash of its name. */
function findCoordinator(name: string): number {
  const digest = createHash("sha256").update(`0\0\0${name}`).digest();
  const lastBytes = [7, 15, 23, 31].map((at) => digest.readUInt8(at));
  return toNodeId(lastBytes.reduce((sum, byte) => sum ^ byte, 0) % 2);
}

/** kfake's id of a producer is a hash of its transactional id: FNV-1 without the sign. */
const toProducerId = (transactionalId: string): bigint =>
  BigInt.asUintN(
    63,
    Buffer.from(transactionalId).reduce(
      (hash, byte) => BigInt.asUintN(64, hash * 0x100000001b3n) ^ BigInt(byte),
      0xcbf29ce484222325n,
    ),
  );

/** What scenes need that are not played on kfake: see `kfake-differences.ts`. */
const refuse = (): Promise<never> => Promise.reject(new Error("kfake cannot do this"));

interface KfakeClusterOptions {
  readonly process: KfakeProcess;
  readonly admin: Admin;
  readonly client: WireClient;
}

/** Two brokers of kfake. */
class KfakeCluster implements ClusterUnderTest {
  readonly #options: KfakeClusterOptions;

  constructor(options: KfakeClusterOptions) {
    this.#options = options;
  }

  readonly moveCoordinator = refuse;
  readonly kill = refuse;
  readonly start = refuse;
  readonly loseEnd = refuse;
  readonly isolate = refuse;
  readonly setOffset = refuse;
  readonly deleteOffset = refuse;
  readonly expireOffset = refuse;

  readonly toIndex = toNodeId;

  readonly ask: ClusterUnderTest["ask"] = (broker, name, body) =>
    this.#options.client.ask(this.#options.process.addresses[toNodeId(broker)] ?? "", name, body);

  readonly until: ClusterUnderTest["until"] = async (what, isMet) => {
    await until(what, isMet);
  };

  /**
   * The first broker coordinates what has this name, or the one that scenes derive from it. Its producer id
   * is one that `wire/` reads exactly.
   */
  name(text: string): string {
    for (;;) {
      const name = unique(text);
      const isOnFirst = findCoordinator(name) === 0 && findCoordinator(`${name}-never`) === 0;
      if (isOnFirst && toProducerId(name) <= Number.MAX_SAFE_INTEGER) return name;
    }
  }

  async createTopic(topic: string, partitions: number, settings: Settings = {}): Promise<void> {
    const all = { "retention.ms": "-1", ...settings };
    const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
    const config = { topic, numPartitions: partitions, replicationFactor: 1, configEntries };
    await createKafkaTopics(this.#options.admin, config);
    await this.#placeAll(topic, 0, partitions);
  }

  async grow(topic: string, count: number): Promise<void> {
    await this.#options.admin.createPartitions({ topicPartitions: [{ topic, count }] });
    await this.#placeAll(topic, 1, count);
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.#options.admin.deleteTopics({ topics: [topic] });
  }

  deleteBefore(topic: string, partition: number, offset: number): Promise<void> {
    return deleteRecordsBefore(this.#options.admin, { topic, partition, offset });
  }

  moveLeader(topic: string, partition: number, to: BrokerIndex): Promise<void> {
    return this.#options.process.place({ topic, partition, replicas: [toNodeId(to)] });
  }

  addCopy(topic: string, partition: number): Promise<void> {
    const replicas = [toNodeId(partition % 2), partition % 2];
    return this.#options.process.place({ topic, partition, replicas });
  }

  async #placeAll(topic: string, from: number, to: number): Promise<void> {
    for (let partition = from; partition < to; partition += 1)
      await this.#options.process.place({ topic, partition, replicas: [toNodeId(partition % 2)] });
  }
}

/**
 * Runs a scene on two brokers of its own: one scene creates a topic with an empty name, which kfake then
 * finds for every unknown topic id.
 */
export async function runKfakeCluster<T>(scene: (cluster: ClusterUnderTest) => Promise<T>): Promise<T> {
  const process = await startKfake();
  const { admin } = testKafka(process.addresses.join(","));
  const client = createWireClient(({ host, port, onConnect }) => connect({ host, port }, onConnect));
  try {
    await admin.connect();
    return await scene(new KfakeCluster({ process, admin, client }));
  } finally {
    client.close();
    await admin.disconnect();
    await process.stop();
  }
}
