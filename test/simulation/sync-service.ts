/** The product in a process of the sync's world. */
import type { Broker } from "@topicsync/kafka/client";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import type { RecordProducer } from "@topicsync/kafka";
import { createAnnouncementHandler } from "../../consumers/announcements/handler.ts";
import { createGroupConsumer, type GroupConsumer } from "../../consumers/group-consumer.ts";
import { readConfig } from "../../src/config/config.ts";
import { createLogStore } from "../../src/storage/logs.ts";
import { createTopicStore } from "../../src/storage/topics/topics.ts";
import type { TopicStore } from "../../src/topics/stores.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import { createClaimCheck } from "./claim-check.ts";
import type { Host } from "../simulated-servers/index.ts";
import type { KafkaWorld } from "./kafka-world.ts";
import type { Counts } from "./sync-explanation.ts";
import type { Process, World } from "./world.ts";

export const groupId = "topicsync";
export const announcementsTopic = "announcements";
export const deadLetterTopic = "dead-letters";

export interface Service {
  readonly topics: TopicService;
  readonly store: TopicStore;
  readonly broker: Broker;
  readonly deadLetters: RecordProducer;
  readonly consumer: GroupConsumer;
}

interface ServiceOptions {
  readonly world: World<Service>;
  readonly kafka: KafkaWorld<Service>;
  readonly maxRecordsPerWrite: number;
  readonly onSending: (host: Host, records: Parameters<RecordProducer["send"]>[0]) => void;
  readonly onReported: (host: Host, partition: number, counts: Counts) => void;
  /** The consumer gives up. */
  readonly onDied: (error: unknown) => void;
}

export async function startService(
  process: Process<Service>,
  { world, kafka, maxRecordsPerWrite, onSending, onReported, onDied }: ServiceOptions,
): Promise<void> {
  const { log, runCheck } = world;
  const { host } = process;
  const { signal: abort } = new AbortController();
  const settings = { ...readConfig({}).kafka, groupId, announcementsTopic, deadLetterTopic };
  const broker = kafka.createBroker(settings);
  const database = world.openDatabase(host);
  const store = createTopicStore(database, log, { historyRetentionDays: undefined });
  const topics = createTopicService(store);
  const deadLetters = broker.createProducer(deadLetterTopic);
  const member = broker.createMember({ topic: announcementsTopic, groupId, commitsOffsets: true });
  const watchClaims = createClaimCheck(member, runCheck);
  const consumer = createGroupConsumer({
    member,
    watch: broker.watch(announcementsTopic),
    logs: createLogStore(database),
    consumer: "announcements",
    createHandler: (partition) => {
      const handler = createAnnouncementHandler(partition, {
        ...{ groupId, topics, store, log },
        deadLetters: {
          send(records) {
            onSending(host, records);
            return deadLetters.send(records);
          },
        },
        applied: ({ decision: { counts } }) => {
          onReported(host, partition.partition, counts);
        },
        tracing: undefined,
      });
      return { ...watchClaims(partition.partition, handler), maxRecordsPerWrite };
    },
    ...{ log, onDied },
  });
  process.service = { topics, store, broker, deadLetters, consumer };
  await database.connect(abort);
  await broker.connect(abort);
  await retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log });
}
