import kafkajs, { type Admin, type Kafka } from "kafkajs";

import { Unavailable } from "../errors.ts";
import type { NewRecord, PlacedOffset, Publisher } from "../records.ts";
import { unavailable } from "./failures.ts";

/**
 * Sends records to one Kafka topic and tells where each lies. The partition is chosen here and not by kafkajs, which tells
 * of a request only the first offset in each partition.
 */
export async function createPublisher(
  kafka: Kafka,
  admin: Admin,
  topic: string,
): Promise<Publisher & { close(): Promise<void> }> {
  const choose = kafkajs.Partitioners.DefaultPartitioner();
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: () => choose,
  });

  async function partitions() {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions ?? [];
  }
  const [partitionMetadata] = await Promise.all([partitions(), producer.connect()]).catch(
    (error: unknown) => {
      throw unavailable(error);
    },
  );

  return {
    async send(records) {
      const messages = records.map((record) => ({
        ...toMessage(record),
        partition: record.partition ?? choose({ topic, partitionMetadata, message: toMessage(record) }),
      }));
      const sent = await producer.send({ topic, acks: -1, messages }).catch((error: unknown) => {
        throw unavailable(error);
      });
      const next = new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]));
      return messages.map(({ partition }): PlacedOffset => {
        const offset = next.get(partition);
        if (offset === undefined)
          throw new Unavailable(`Kafka did not acknowledge a record for ${topic}-${partition}`);
        next.set(partition, offset + 1);
        return { partition, offset };
      });
    },
    close: () => producer.disconnect(),
  };
}

const toMessage = ({ key, value, headers }: NewRecord) => ({ key, value, headers: { ...headers } });
