import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { connectBroker } from "../../support/broker.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";

const { admin, routerScene } = routerStage();
const broker = await connectBroker();

describe("an egress topic that gets more partitions", () => {
  it("loses no copy while the router runs", async () => {
    const scene = routerScene();
    await scene.createTopics(1, 2);
    await scene.start();
    await scene.send(defineTopic("all", "eventType=E"));
    await scene.stored(1);
    await scene.produce({ value: createEvent("E") });
    await scene.routed();
    await admin.createPartitions({ topicPartitions: [{ topic: scene.egress, count: 6 }] });
    let produced = 1;
    const copies = await until("the router uses the new partitions, or loses copies", async () => {
      const values = Array.from({ length: 30 }, (_, number) => ({
        key: String(number),
        value: createEvent("E", { number: produced + number }),
      }));
      await scene.produce(...values);
      produced += values.length;
      await scene.routed();
      const found = await scene.readAll(scene.egress);
      return (found.length < produced || found.some(({ partition }) => partition > 1)) && found;
    });
    assert.equal(new Set(copies.map((copy) => getText(copy, "topicsync.event"))).size, produced);
    assert.equal(copies.length, produced);
  });

  it("fails a transaction with a record for a partition that the producer does not know yet", async () => {
    const [events, egress, groupId] = [unique("events"), unique("egress"), unique("group")];
    await createKafkaTopics(admin, { topic: events, numPartitions: 1 }, { topic: egress, numPartitions: 1 });
    const transactions = broker.createTransactions({ partition: { topic: events, partition: 0 }, groupId });
    after(() => transactions.close());
    const to = { epoch: 1 };
    const toRecord = (partition: number) => ({
      topic: egress,
      partition,
      key: null,
      value: Buffer.from("{}"),
      headers: [],
      timestamp: "1700000000000",
    });
    /**
     * Sends a record to the first partition, so that the producer has read the metadata of the Kafka topic.
     */
    async function sendOne(offset: number): Promise<void> {
      await transactions.claim();
      const transaction = await transactions.begin({ ...to, offset });
      await transaction.sendAll([toRecord(0)]);
      await transaction.commit();
    }
    for (const [method, added] of [
      ["sendAll", 1],
      ["sendEach", 2],
    ] as const) {
      await sendOne(added);
      await admin.createPartitions({ topicPartitions: [{ topic: egress, count: added + 1 }] });
      const transaction = await transactions.begin({ ...to, offset: 9 });
      await assert.rejects(transaction[method]([toRecord(0), toRecord(added)]), {
        name: "UnavailableError",
        message: `Kafka did not acknowledge records for partition ${added} of ${egress}`,
      });
      assert.equal((await transactions.claim())?.offset, added);
    }
    const last = await transactions.begin({ ...to, offset: 9 });
    await last.sendAll([toRecord(0), toRecord(2)]);
    await last.commit();
    // Kafka confirms a transaction before its offsets are visible to others.
    await until("the offset is committed", async () => {
      const [committed] = await admin.fetchOffsets({ groupId, topics: [events] });
      return committed?.partitions[0]?.offset === "9";
    });
  });
});
