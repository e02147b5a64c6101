import kafkajs, { type Admin, type PartitionMetadata } from "kafkajs";

import { UnavailableError } from "../lib/errors.ts";
import type { NewRecord, PlacedOffset, Publisher } from "../sync/records.ts";
import { quoteTopic, toKafkaError } from "./failures.ts";
import { createProducer } from "./producer.ts";
import type { KafkaClient } from "./sockets.ts";

/**
 * Sends records to one Kafka topic and tells where each lies. The partition is chosen here and not by kafkajs, which tells
 * of a request only the first offset in each partition.
 */
export function createPublisher(
  client: KafkaClient,
  admin: Admin,
  topic: string,
): Publisher & { close(): Promise<void> } {
  const choose = kafkajs.Partitioners.DefaultPartitioner();
  const producer = createProducer(client, topic);
  let metadata: Promise<PartitionMetadata[]> | undefined;

  async function partitions(): Promise<PartitionMetadata[]> {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions ?? [];
  }

  return {
    async send(records) {
      try {
        const partitionMetadata = await (metadata ??= partitions());
        const messages = records.map(toMessage).map((message) => ({
          ...message,
          partition: choose({ topic, partitionMetadata, message }),
        }));
        const sent = await producer.send(messages);
        return placesOf(
          messages,
          new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)])),
        );
      } catch (error) {
        metadata = undefined;
        throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: `Write on ${quoteTopic(topic)}` });
      }
    },
    close: () => producer.close(),
  };
}

/** `next` is the offset of the next message in each partition. */
function placesOf(
  messages: readonly { readonly partition: number }[],
  next: Map<number, number>,
): PlacedOffset[] {
  return messages.map(({ partition }) => {
    const offset = next.get(partition);
    if (offset === undefined)
      throw new UnavailableError(`Kafka did not acknowledge a record for its partition ${partition}`);
    next.set(partition, offset + 1);
    return { partition, offset };
  });
}

const toMessage = ({ key, value }: NewRecord) => ({ key, value });
