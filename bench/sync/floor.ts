/**
 * The floor of `npm run bench`, a minimal sync: a plain kafkajs `eachBatch` with one `insertMany` per batch,
 * without validation, positions or rejections. The same documents and indexes as the service.
 *
 * Usage: node bench/sync/floor.ts BROKERS URI TOPIC
 */
import { randomUUID } from "node:crypto";

import kafkajs from "kafkajs";
import { MongoClient } from "mongodb";

import { stopIdleChecks } from "@topicsync/kafka/internals";
import { ensureIndexes } from "../../src/storage/indexes.ts";

const [, , brokers = "", uri = "", topic = ""] = process.argv;

const client = new MongoClient(uri);
await ensureIndexes(client.db());
const topics = client.db().collection<{ _id: string }>("svc_api_notif_mgmt_topic");

stopIdleChecks();
const kafka = new kafkajs.Kafka({ brokers: brokers.split(","), logLevel: kafkajs.logLevel.NOTHING });
const consumer = kafka.consumer({ groupId: `floor-${randomUUID()}` });
await consumer.connect();
await consumer.subscribe({ topics: [topic], fromBeginning: true });
await consumer.run({
  eachBatch: async ({ batch }) => {
    const now = new Date();
    const documents = batch.messages.map(({ value, offset }) => {
      const topicBody = JSON.parse(String(value)) as Record<string, string>;
      return {
        _id: randomUUID().replaceAll("-", ""),
        topic_name: topicBody["name"],
        topic_id: topicBody["externalId"],
        header_query: topicBody["headerQuery"],
        content_query: topicBody["contentQuery"],
        namespace: topicBody["namespace"],
        user_created: false,
        type: "egress",
        source: {
          kind: "announcement",
          topic: batch.topic,
          partition: batch.partition,
          offset: Number(offset),
        },
        sys_created_on: now,
        sys_updated_on: now,
      };
    });
    await topics.insertMany(documents);
  },
});
