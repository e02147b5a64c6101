import { connectBroker } from "../../support/broker.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";
import type { TransactionsUnderTest } from "./kafka-transaction-scenes.ts";

/** The records of scenes are older than a broker keeps them by default. */
const keepRecords = { name: "retention.ms", value: "-1" };

/** Connects to the shared broker; runs each scene with new topics and a new group. */
export async function createRealTransactions() {
  const { admin } = testKafka(sharedStack().kafka);
  const broker = await connectBroker();
  await admin.connect();
  // The scenes repeat nothing, unlike the router, and a new broker loads its coordinators with the first
  // transaction.
  await until("the coordinators are loaded", async () => {
    const topic = unique("warm-up");
    await createKafkaTopics(admin, { topic, numPartitions: 1 });
    const transactions = broker.createTransactions({ partition: { topic, partition: 0 }, groupId: topic });
    await transactions.claim();
    await (await transactions.begin({ offset: 1, epoch: 1 })).commit();
    await transactions.close();
    return true;
  });

  return async function run<T>(scene: (kafka: TransactionsUnderTest) => Promise<T>): Promise<T> {
    const [events, topic, smallTopic] = ["events", "egress", "small"].map(unique) as [string, string, string];
    await createKafkaTopics(
      admin,
      { topic: events, numPartitions: 1 },
      { topic, numPartitions: 2, configEntries: [keepRecords] },
      {
        topic: smallTopic,
        numPartitions: 1,
        configEntries: [keepRecords, { name: "max.message.bytes", value: "1000" }],
      },
    );
    const groupId = unique("router");
    await using resources = new AsyncDisposableStack();
    return await scene({
      topic,
      smallTopic,
      createTransactions() {
        const transactions = broker.createTransactions({
          partition: { topic: events, partition: 0 },
          groupId,
        });
        resources.defer(() => transactions.close());
        return transactions;
      },
      async readCommitted(name) {
        const values: string[][] = name === topic ? [[], []] : [[]];
        const { signal } = new AbortController();
        for await (const { partition, record } of broker.read(name, { abort: signal }))
          values[partition]?.push(String(record.value));
        return values;
      },
    });
  };
}
