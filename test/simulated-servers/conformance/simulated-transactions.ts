import type { TransactionsUnderTest } from "./kafka-transaction-scenes.ts";
import { onStage } from "./simulated-kafka.ts";

const [events, topic, smallTopic] = ["events", "egress", "small"] as const;

/**
 * Runs a scene against a simulated cluster, whose markers and network follow from the seed. Replaces the
 * platform while it runs.
 */
export const runSimulatedTransactions = <T>(
  seed: number,
  scene: (kafka: TransactionsUnderTest) => Promise<T>,
): Promise<T> =>
  onStage(seed, {}, async ({ cluster, connect }) => {
    cluster.registry.create({ name: events, partitions: 1 });
    cluster.registry.create({ name: topic, partitions: 2 });
    cluster.registry.create({ name: smallTopic, partitions: 1, maxBatchBytes: 1_000 });
    const broker = await connect();
    return scene({
      topic,
      smallTopic,
      createTransactions: () =>
        broker.createTransactions({ partition: { topic: events, partition: 0 }, groupId: "router" }),
      readCommitted: (name) =>
        Promise.resolve(
          (cluster.topics.get(name)?.partitions ?? []).map(({ log }) =>
            log.readAll().map(({ value }) => String(value)),
          ),
        ),
    });
  });
