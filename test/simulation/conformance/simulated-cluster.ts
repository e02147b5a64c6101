import { createWireClient } from "./wire-client.ts";
import type { ClusterUnderTest } from "./cluster-under-test.ts";
import { onStage } from "./simulated-kafka.ts";

const settleMs = 200;
const pollIntervalMs = 20;
const limitMs = 300_000;

/** Runs a scene against a simulated cluster, whose network and delays follow from the seed. Replaces the platform meanwhile. */
export const runSimulatedCluster = <T>(
  seed: number,
  scene: (cluster: ClusterUnderTest) => Promise<T>,
): Promise<T> =>
  onStage(seed, { verifies: true }, async ({ clock, outside, network, cluster }) => {
    cluster.moveCoordinator("transaction", 0);
    const sockets = network.createSockets();
    const client = createWireClient(sockets.createClientSockets().open);
    const wait = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        clock.schedule(outside, ms, resolve);
      });
    return scene({
      ask: (broker, name, body) => client.ask(cluster.addresses[broker] ?? "", name, body),
      name: (text) => text,
      toIndex: (nodeId) => nodeId,
      async createTopic(name, partitions, settings = {}) {
        const { "max.message.bytes": maxBytes } = settings;
        cluster.registry.create({
          name,
          partitions,
          ...(maxBytes === undefined ? {} : { maxBatchBytes: Number(maxBytes) }),
          settings: new Map(Object.entries(settings)),
        });
        await wait(settleMs);
      },
      async grow(topic, partitions) {
        cluster.registry.grow(topic, partitions);
        await wait(settleMs);
      },
      async deleteTopic(topic) {
        cluster.deleteTopic(topic);
        await wait(settleMs);
      },
      deleteBefore(topic, partition, offset) {
        cluster.getPartition(topic, partition).log.truncate(offset);
        return Promise.resolve();
      },
      async moveLeader(topic, partition, to) {
        cluster.moveLeader(topic, partition, to);
        await wait(settleMs);
      },
      addCopy(topic, partition) {
        cluster.getPartition(topic, partition).isCopied = true;
        return Promise.resolve();
      },
      async until(what, isMet) {
        const end = clock.getTime() + limitMs;
        while (!(await isMet())) {
          if (clock.getTime() > end) throw new Error(`simulation: gave up waiting until ${what}`);
          await wait(pollIntervalMs);
        }
      },
    });
  });
