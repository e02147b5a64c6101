import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs from "kafkajs";

import { spareBusyPartitions } from "../../workarounds/runner.ts";
import { createKafkaTopics } from "../../../../test/support/kafka-topics.ts";
import { unique } from "../../../../test/support/names.ts";
import { until } from "../../../../test/support/poll.ts";
import { testKafka } from "../../../../test/support/stack.ts";
import { startTwoBrokers } from "../../../../test/support/two-brokers.ts";

const { first, second, addresses } = await startTwoBrokers({
  settings: ["broker.session.timeout.ms=60000"],
});
const { admin } = testKafka(addresses);
await admin.connect();

/**
 * Moves the leader of a partition while a batch of it is processed. Returns how often it is fetched in vain.
 */
async function countVainFetches(): Promise<number> {
  const topic = unique("busy");
  await createKafkaTopics(admin, { topic, replicaAssignment: [{ partition: 0, replicas: [first.id] }] });
  let vain = 0;
  const kafka = new kafkajs.Kafka({
    brokers: addresses.split(","),
    logLevel: kafkajs.logLevel.INFO,
    logCreator:
      () =>
      ({ log }) => {
        if (log.message.startsWith("Filtering out batch")) vain += 1;
      },
  });
  const consumer = kafka.consumer({ groupId: topic, metadataMaxAge: 500, maxWaitTimeInMs: 100 });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ value: "1" }] });
  await producer.disconnect();
  const processing = Promise.withResolvers<undefined>();
  const processed = Promise.withResolvers<undefined>();
  let fetches = 0;
  consumer.on(consumer.events.FETCH, ({ payload }) => {
    if (String(payload.nodeId) === String(second.id)) fetches += 1;
  });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachBatch: async () => {
      processing.resolve(undefined);
      await processed.promise;
    },
  });
  await processing.promise;
  await admin.alterPartitionReassignments({
    topics: [{ topic, partitionAssignment: [{ partition: 0, replicas: [second.id] }] }],
  });
  const toLeader = async (): Promise<number | undefined> =>
    (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions[0]?.leader;
  await until("the leader has moved", async () => (await toLeader()) === second.id);
  const before = fetches;
  await until("the new leader was asked", () => fetches > before + 20);
  processed.resolve(undefined);
  await consumer.disconnect();
  return vain;
}

it("a partition that is processed is not fetched from its next leader", async () => {
  assert.ok((await countVainFetches()) > 0, "kafkajs no longer needs it");
  spareBusyPartitions();
  assert.equal(await countVainFetches(), 0);
});
