import assert from "node:assert/strict";
import { it } from "node:test";

import type { Kafka } from "kafkajs";

import { rememberCoordinators } from "../../workarounds/clusters.ts";
import { createKafkaTopics } from "../../../../test/support/kafka-topics.ts";
import { unique } from "../../../../test/support/names.ts";
import { until } from "../../../../test/support/poll.ts";
import { sharedStack, testKafka } from "../../../../test/support/stack.ts";

const stack = sharedStack();

/** The requests of the second of two transactions. */
async function listRequests(kafka: Kafka, topic: string): Promise<string[]> {
  const producer = kafka.producer({ transactionalId: unique("transactions"), maxInFlightRequests: 1 });
  const consumerGroupId = unique("group");
  const requests: string[] = [];
  await producer.connect();
  try {
    for (let turn = 1; turn <= 2; turn += 1) {
      const transaction = await producer.transaction();
      if (turn === 2)
        producer.on("producer.network.request", ({ payload }) => requests.push(payload.apiName));
      await transaction.send({ topic, messages: [{ value: "one" }] });
      const topics = [{ topic, partitions: [{ partition: 0, offset: "1" }] }];
      await transaction.sendOffsets({ consumerGroupId, topics });
      await transaction.commit();
    }
    return requests;
  } finally {
    await producer.disconnect();
  }
}

it("leaves out the look-ups of coordinators, which stock kafkajs repeats for each request", async () => {
  const { kafka, admin } = testKafka(stack.kafka);
  const topic = unique("transactions");
  await admin.connect();
  await createKafkaTopics(admin, { topic, numPartitions: 1 });
  const isLookUp = (request: string): boolean => /coordinator/i.test(request);
  // A new broker loads its coordinators with the first transaction.
  const stock = await until("the coordinators are loaded", () =>
    listRequests(testKafka(stack.kafka).kafka, topic),
  );
  assert.ok(stock.some(isLookUp), "kafkajs no longer needs rememberCoordinators");

  rememberCoordinators(kafka);
  assert.deepEqual((await listRequests(kafka, topic)).filter(isLookUp), []);
});
