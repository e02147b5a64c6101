import assert from "node:assert/strict";
import { after, before } from "node:test";

import type { IHeaders } from "kafkajs";

import { createBroker, type Broker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import { getHeaderText, type LogRecord } from "@topicsync/kafka";
import { readConfig } from "../../src/config/config.ts";
import { call } from "./http.ts";
import { createKafkaTopics, waitForTransactions } from "./kafka-topics.ts";
import { unique } from "./names.ts";
import { until } from "./poll.ts";
import { getSyncStatus, stage } from "./scene.ts";
import type { StackAddresses } from "./stack.ts";
import { runCli, type TestService } from "./service.ts";

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

export const getText = ({ headers }: ReadRecord, name: string): string | undefined =>
  getHeaderText(headers, name);

export const defineTopic = (externalId: string, headerQuery: string, contentQuery = "") => ({
  externalId,
  name: externalId,
  namespace: "n",
  headerQuery,
  contentQuery,
});

/** Within it, the order is kept: the partition of the event, and that of the copy. */
const toStream = (copy: ReadRecord): string =>
  `${getText(copy, "topicsync.event")?.split("-").at(-2) ?? ""} to ${copy.partition}`;

/** Waits until a service has read the last events: a busy machine may take longer than it waits. */
export const sampled = (service: TestService): Promise<true> =>
  until("the events are sampled", async () => {
    const { status } = await call(`${service.url}/api/topicsync/v1/event-types`, { method: "GET" });
    return status === 200;
  });

/** Scenes with events. */
export function routerStage(addresses?: StackAddresses) {
  const { stack, kafka, admin, producer, scene } = stage(addresses);
  let broker: Broker;
  before(async () => {
    const config = { ...readConfig({}).kafka, brokers: stack.kafka.split(",") };
    broker = createBroker(config, await createLogger("silent"));
  });
  after(() => broker.close());

  function routerScene(moreSettings: Readonly<Record<string, string>> = {}) {
    const events = unique("events");
    const egress = unique("egress");
    const own = scene({ KAFKA_EVENTS_TOPIC: events, KAFKA_EGRESS_TOPIC: egress, ...moreSettings });
    const groupId = `${own.key.group}.router`;
    let produced = 0;
    let service: TestService | undefined;

    async function readAll(topic: string): Promise<ReadRecord[]> {
      await waitForTransactions(broker, topic);
      const records: ReadRecord[] = [];
      for await (const { partition, record } of broker.read(topic, { abort: new AbortController().signal }))
        records.push({ ...record, partition });
      return records;
    }

    /**
     * The sum of the group's offsets, and of the ends of the log: they are equal when every event was
     * forwarded.
     */
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
      start: async (overrides?: Readonly<Record<string, string>>): Promise<TestService> =>
        (service = await own.start(overrides)),
      /** Also waits until the last router that was started knows the topics, which it does a little later. */
      async stored(expected: number): Promise<void> {
        await own.stored(expected);
        const started = service;
        if (started === undefined) throw new Error("no router was started");
        await until(
          `the router knows ${expected} topics`,
          async () => (await getSyncStatus(started)).router?.index?.topics === expected,
        );
      },
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
          readonly headers?: IHeaders;
          readonly timestamp?: string;
        }[]
      ): Promise<void> {
        produced += records.length;
        await producer.send({
          topic: events,
          messages: records.map(({ value, headers, ...record }) => ({
            ...record,
            headers: { ...headers },
            key: record.key ?? null,
            value:
              value === null || typeof value === "string" || Buffer.isBuffer(value)
                ? value
                : JSON.stringify(value),
          })),
        });
      },
      routed: () => until(`all ${produced} events are forwarded`, isAtEnd),
      readAll,
      countCopies: async (): Promise<number> => (await readAll(egress)).length,
      /** Asserts that each event was forwarded to each of the topics once, in the order of its partition. */
      async assertForwarded(topics: readonly string[], perPartition: readonly number[]): Promise<void> {
        const copies = await readAll(egress);
        const expected = perPartition.flatMap((count, partition) =>
          Array.from({ length: count }, (_, offset) => `${events}-${partition}-${offset}`),
        );
        for (const topic of topics) {
          const ids = copies
            .filter((copy) => getText(copy, "topicsync.topic") === topic)
            .map((copy) => getText(copy, "topicsync.event") ?? "");
          assert.equal(ids.length, expected.length, `${topic}: copies`);
          assert.deepEqual(new Set(ids), new Set(expected), topic);
        }
        for (const [stream, records] of Map.groupBy(copies, toStream)) {
          const offsets = records.map((copy) => Number(getText(copy, "topicsync.event")?.split("-").at(-1)));
          assert.ok(
            offsets.every((offset, at) => offset >= (offsets[at - 1] ?? 0)),
            `the order of ${stream}`,
          );
        }
        assert.equal(copies.length, expected.length * topics.length);
        assert.equal((await readAll(`${events}.dead-letter`)).length, 0);
      },
      cli: (...args: string[]) => runCli(args, own.settings),
      async post(service: Pick<TestService, "url">, topic: object): Promise<void> {
        const { status } = await call(`${service.url}/api/svc_api_notif_mgmt/v1/topic`, { body: topic });
        assert.equal(status, 201);
      },
      deadLettersOverHttp: (service: Pick<TestService, "url">) =>
        call(`${service.url}/api/topicsync/v1/dead-letters?channel=events`, { method: "GET" }),
    };
  }

  return { stack, kafka, admin, producer, routerScene };
}

export type RouterScene = ReturnType<ReturnType<typeof routerStage>["routerScene"]>;
