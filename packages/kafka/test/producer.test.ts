import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { OutgoingRecord } from "../interface/records.ts";
import { connectBroker } from "../../../test/support/broker.ts";
import { createKafkaTopics } from "../../../test/support/kafka-topics.ts";
import { unique } from "../../../test/support/names.ts";
import { stage } from "../../../test/support/scene.ts";

const { admin } = stage();
const topic = unique("produced");
const broker = await connectBroker();
const producer = broker.createProducer(topic);

before(async () => {
  const configEntries = [
    { name: "max.message.bytes", value: "2000" },
    { name: "message.timestamp.after.max.ms", value: "9223372036854775807" },
  ];
  await createKafkaTopics(admin, { topic, numPartitions: 3, configEntries });
});
after(() => producer.close());

const createRecord = (value: string, more: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
  key: null,
  value: Buffer.from(value),
  headers: [],
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

  it("keeps timestamps next to one in nanoseconds", async () => {
    const timestamps = ["1795443686568", "1795443686568123457", "1795443686569"];
    const results = await producer.send(
      timestamps.map((timestamp) => createRecord("timed", { partition: 0, timestamp })),
    );
    const offsets = new Set(results.map((result) => ("offset" in result ? result.offset : undefined)));
    const read: string[] = [];
    for await (const { partition, record } of broker.read(topic, { abort: new AbortController().signal }))
      if (partition === 0 && offsets.has(record.offset)) read.push(record.timestamp);
    assert.deepEqual(read, timestamps);
  });

  it("does not take a fault of the program for an outage", async () => {
    await assert.rejects(producer.send([createRecord("a", { timestamp: "soon" })]), {
      name: "SyntaxError",
      message: "Cannot convert soon to a BigInt",
    });
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
