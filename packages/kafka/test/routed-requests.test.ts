import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import type { Transaction } from "kafkajs";

import { createTopicLimits, sendAll, sendEach, splitIntoRequests } from "../routed-requests.ts";
import type { RoutedRecord } from "../interface/routing-transactions.ts";
import { createKafkaTopics } from "../../../test/support/kafka-topics.ts";
import { unique } from "../../../test/support/names.ts";
import { sharedStack, testKafka } from "../../../test/support/stack.ts";

const { kafka, admin } = testKafka(sharedStack().kafka);
await admin.connect();

/**
 * Begins a transaction that counts its requests, with a Kafka topic that has one partition and these
 * settings.
 */
async function createScene(settings: Readonly<Record<string, string>>) {
  const topic = unique("egress");
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await createKafkaTopics(admin, { topic, numPartitions: 1, configEntries });
  const producer = kafka.producer({ transactionalId: topic, maxInFlightRequests: 1 });
  await producer.connect();
  const begun = await producer.transaction();
  after(async () => {
    await begun.abort();
    await producer.disconnect();
  });
  let requests = 0;
  const transaction: Transaction = {
    ...begun,
    send: (record) => ((requests += 1), begun.send(record)),
    sendBatch: (batch) => ((requests += 1), begun.sendBatch(batch)),
  };
  return {
    transaction,
    /** Counts from the last call on. */
    count: () => {
      const counted = requests;
      requests = 0;
      return counted;
    },
    create: (key: string | null, size = 10): RoutedRecord => ({
      topic,
      partition: 0,
      key: key === null ? null : Buffer.from(key),
      value: Buffer.alloc(size),
      headers: [],
      timestamp: "1700000000000",
    }),
  };
}

describe("a Kafka topic", () => {
  it("gets smaller batches after one was too large for it", async () => {
    const { transaction, count, create } = await createScene({ "max.message.bytes": "20000" });
    const limits = createTopicLimits();
    const records = Array.from({ length: 64 }, () => create(null, 1_000));
    const results = await sendEach(transaction, records, { limits, isFirst: true });
    assert.ok(results.every((result) => "offset" in result));
    assert.ok(count() > 4);
    const requests = [...splitIntoRequests(records, limits)];
    assert.ok(requests.length <= 8, `${requests.length} requests`);
    for (const request of requests) await sendAll(transaction, request);
    await sendEach(transaction, records, { limits, isFirst: true });
    assert.equal(count(), requests.length * 2);
  });

  it("gets as large batches as before after a record was too large for it that was alone", async () => {
    const { transaction, create } = await createScene({ "max.message.bytes": "20000" });
    const limits = createTopicLimits();
    const [result] = await sendEach(transaction, [create(null, 30_000)], { limits, isFirst: true });
    assert.ok(result !== undefined && "rejection" in result);
    assert.equal(limits.getMaxBytes(create(null).topic), 512 * 1024);
  });

  it("is not sent records without a key for a while after it rejected one because it is compacted", async () => {
    const { transaction, count, create } = await createScene({ "cleanup.policy": "compact" });
    const limits = createTopicLimits();
    const records = Array.from({ length: 64 }, (_, number) => create(number % 8 === 7 ? "k" : null));
    for (const maxRequests of [13, 1]) {
      const results = await sendEach(transaction, records, { limits, isFirst: true });
      const offsets = results.map((result) => ("rejection" in result ? result.rejection.reason : "sent"));
      assert.deepEqual(
        offsets,
        records.map(({ key }) => (key === null ? "not-acceptable" : "sent")),
      );
      const requests = count();
      assert.ok(requests <= maxRequests, `${requests} requests`);
    }
  });

  it("does not count as denied when that may be about another one, which the producer used before", async () => {
    const { transaction, create } = await createScene({});
    const limits = createTopicLimits();
    const denial = Object.assign(new Error("denied"), { type: "TOPIC_AUTHORIZATION_FAILED" });
    const denied: Transaction = { ...transaction, send: () => Promise.reject(denial) };
    await assert.rejects(sendEach(denied, [create(null)], { limits, isFirst: false }), denial);
    const [result] = await sendEach(denied, [create(null)], { limits, isFirst: true });
    assert.ok(result !== undefined && "rejection" in result);
    assert.equal(result.rejection.reason, "denied");
  });
});
