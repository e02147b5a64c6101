import kafkajs from "kafkajs";

import { stopIdleChecks } from "@topicsync/kafka/internals";
import { until } from "./poll.ts";

const name = "used";

/** Uses a broker as tests do: a topic, a transaction, a group. Leaves nothing in it. */
export async function useBroker(address: string): Promise<void> {
  stopIdleChecks();
  const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({
    transactionalId: name,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  const consumer = kafka.consumer({ groupId: name });
  try {
    await Promise.all([admin.connect(), producer.connect(), consumer.connect()]);
    await admin.createTopics({ topics: [{ topic: name }] });
    await until("the broker coordinates groups", () => admin.fetchOffsets({ groupId: name }));
    await until("a transaction is committed", async () => {
      const transaction = await producer.transaction();
      await transaction.send({ topic: name, messages: [{ key: name, value: name }] });
      await transaction.commit();
      return true;
    });
    await consumer.subscribe({ topic: name, fromBeginning: true });
    const { promise: read, resolve } = Promise.withResolvers<true>();
    await consumer.run({
      eachMessage: () => {
        resolve(true);
        return Promise.resolve();
      },
    });
    await read;
    await consumer.disconnect();
    await admin.deleteGroups([name]);
    await admin.deleteTopics({ topics: [name] });
  } finally {
    await Promise.all([admin, producer, consumer].map((client) => client.disconnect()));
  }
}
