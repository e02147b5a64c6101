import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { readConfig } from "../../../src/config.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { OutgoingRecord } from "../../../src/sync/records.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { admin } = testKafka(stack.kafka);
const topic = unique("produced");
const broker = createBroker(
  { ...readConfig({}).kafka, brokers: [stack.kafka] },
  await createLogger("silent"),
);
const producer = broker.createProducer(topic);

before(async () => {
  await admin.connect();
  const configEntries = [{ name: "max.message.bytes", value: "2000" }];
  await createKafkaTopics(admin, { topic, numPartitions: 3, configEntries });
});
after(() => Promise.all([producer.close(), broker.close()]));

const createRecord = (value: string, more: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
  key: null,
  value: Buffer.from(value),
  headers: {},
  timestamp: undefined,
  ...more,
});

describe("a producer", () => {
  it("returns the position of each record, in given partitions and in those chosen by the key", async () => {
    const key = Buffer.from("key");
    const results = await producer.send([
      createRecord("a", { partition: 2 }),
      createRecord("b", { key }),
      createRecord("c", { partition: 2 }),
      createRecord("d", { key }),
    ]);
    const read = new Map<string, string>();
    for await (const placed of broker.read(topic, { abort: new AbortController().signal }))
      read.set(`${placed.partition}-${placed.record.offset}`, String(placed.record.value));
    const texts = results.map((result) =>
      "rejection" in result ? result.rejection.message : read.get(`${result.partition}-${result.offset}`),
    );
    assert.deepEqual(texts, ["a", "b", "c", "d"]);
  });

  it("sends the other records if the topic rejects one", async () => {
    const results = await producer.send([
      createRecord("a"),
      createRecord("x".repeat(5_000)),
      createRecord("b"),
    ]);
    assert.deepEqual(
      results.map((result) => ("rejection" in result ? result.rejection.reason : "sent")),
      ["sent", "too-large", "sent"],
    );
  });
});
