import { after, before } from "node:test";

import { readConfig } from "../../src/config.ts";
import { createBroker, type Broker } from "../../src/kafka/client.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { getHeaderText, type LogRecord } from "../../src/sync/records.ts";
import { createKafkaTopics } from "./kafka-topics.ts";
import { unique } from "./names.ts";
import { until } from "./poll.ts";
import { stage } from "./scene.ts";

/** A record of an egress topic or of the dead-letter topic. */
export interface ReadRecord extends LogRecord {
  readonly partition: number;
}

/** An event as a broker sends it; `members` are those of its `event`. */
export const createEvent = (eventType: string, members: object = {}) => ({
  eventId: unique("event"),
  "@type": "Event",
  eventType,
  event: members,
});

export const textOf = ({ headers }: ReadRecord, name: string): string | undefined =>
  getHeaderText(headers, name);

/** Scenes with events. */
export function routerStage() {
  const { stack, admin, producer, scene } = stage();
  let broker: Broker;
  before(async () => {
    const config = { ...readConfig({}).kafka, brokers: [stack.kafka] };
    broker = createBroker(config, await createLogger("silent"));
  });
  after(() => broker.close());

  function routerScene(moreSettings: Readonly<Record<string, string>> = {}) {
    const events = unique("events");
    const egress = unique("egress");
    const own = scene({ KAFKA_EVENTS_TOPIC: events, KAFKA_EGRESS_TOPIC: egress, ...moreSettings });
    const groupId = `${own.settings.KAFKA_GROUP_ID ?? ""}.router`;
    let produced = 0;

    async function readAll(topic: string): Promise<ReadRecord[]> {
      const records: ReadRecord[] = [];
      for await (const { partition, record } of broker.read(topic, { abort: new AbortController().signal }))
        records.push({ ...record, partition });
      return records;
    }

    /** The sum of the group's offsets, and of the ends of the log: they are equal when every event was forwarded. */
    async function isAtEnd(): Promise<boolean> {
      const [ends, [committed]] = await Promise.all([
        admin.fetchTopicOffsets(events),
        admin.fetchOffsets({ groupId, topics: [events] }),
      ]);
      return ends.every(({ partition, high }) => {
        const found = committed?.partitions.find((one) => one.partition === partition);
        return Number(high) === 0 || Number(found?.offset) === Number(high);
      });
    }

    return {
      ...own,
      events,
      egress,
      groupId,
      deadLetterTopic: `${events}.dead-letter`,
      createTopics: (partitions = 1, egressPartitions = partitions) =>
        createKafkaTopics(
          admin,
          { topic: events, numPartitions: partitions },
          { topic: egress, numPartitions: egressPartitions },
        ),
      /** Produces records to the events topic. */
      async produce(
        ...records: readonly {
          readonly value: object | string | Buffer | null;
          readonly key?: string;
          readonly partition?: number;
          readonly headers?: Readonly<Record<string, string>>;
          readonly timestamp?: string;
        }[]
      ): Promise<void> {
        produced += records.length;
        await producer.send({
          topic: events,
          messages: records.map(({ value, ...record }) => ({
            ...record,
            key: record.key ?? null,
            value:
              value === null || typeof value === "string" || Buffer.isBuffer(value)
                ? value
                : JSON.stringify(value),
          })),
        });
      },
      routed: (limitMs?: number) => until(`all ${produced} events are forwarded`, isAtEnd, limitMs),
      readAll,
    };
  }

  return { stack, admin, producer, routerScene };
}
