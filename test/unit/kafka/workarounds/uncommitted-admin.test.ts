import assert from "node:assert/strict";
import { it } from "node:test";

import { createUncommittedAdmin } from "../../../../src/kafka/workarounds/uncommitted-admin.ts";
import { createKafkaTopics } from "../../../support/kafka-topics.ts";
import { unique } from "../../../support/names.ts";
import { sharedStack, testKafka } from "../../../support/stack.ts";

const stack = sharedStack();

it("reports the high watermark, where a stock admin reports the last stable offset", async (t) => {
  const { kafka, admin } = testKafka(stack.kafka);
  const uncommitted = createUncommittedAdmin(testKafka(stack.kafka).kafka);
  const producer = kafka.producer({
    transactionalId: unique("open"),
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await Promise.all([admin.connect(), uncommitted.connect(), producer.connect()]);
  const topic = unique("open-transaction");
  await createKafkaTopics(admin, { topic, numPartitions: 1 });
  const transaction = await producer.transaction();
  t.after(async () => {
    await transaction.abort();
    await Promise.all([uncommitted.disconnect(), producer.disconnect()]);
  });
  await transaction.send({ topic, messages: [{ value: "uncommitted" }] });

  const [stock] = await admin.fetchTopicOffsets(topic);
  assert.equal(stock?.high, "0", "kafkajs no longer needs createUncommittedAdmin");
  const [own] = await uncommitted.fetchTopicOffsets(topic);
  assert.equal(own?.high, "1");
});
