// A client of topicsync: announces a topic, sends events, and reads the copies that are routed to it.
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";

import { Kafka, logLevel } from "kafkajs";

const {
  KAFKA_BROKERS = "127.0.0.1:9092",
  ANNOUNCEMENTS_TOPIC = "topicsync.announcements",
  EVENTS_TOPIC = "topicsync.events",
  EGRESS_TOPIC = "topicsync.egress",
  EXTERNAL_ID = "critical-tickets",
  GROUP_ID = EXTERNAL_ID,
  PROCESSED_FILE = "processed.txt",
} = process.env;

const kafka = new Kafka({ brokers: KAFKA_BROKERS.split(","), logLevel: logLevel.ERROR });

async function send(topic, messages) {
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  await producer.send({ topic, messages, acks: -1 });
  await producer.disconnect();
}

/** The key is the external id, so that compaction keeps the last definition of each topic. */
async function announce() {
  const definition = {
    externalId: EXTERNAL_ID,
    name: "Critical tickets",
    namespace: `examples.${EXTERNAL_ID}`,
    headerQuery: "eventType=TroubleTicketCreateEvent",
    contentQuery: "troubleTicket.severity=critical",
  };
  await send(ANNOUNCEMENTS_TOPIC, [{ key: EXTERNAL_ID, value: JSON.stringify(definition) }]);
  console.log(`announced ${EXTERNAL_ID}`);
}

const createEvent = (ticket) => ({
  eventId: randomUUID(),
  "@type": "TroubleTicketCreateEvent",
  eventType: "TroubleTicketCreateEvent",
  eventTime: new Date().toISOString(),
  event: { troubleTicket: { id: ticket, severity: "critical" } },
});

async function sendEvents() {
  const cloudEvent = {
    specversion: "1.0",
    id: randomUUID(),
    source: "/examples/node",
    type: "TroubleTicketCreateEvent",
    datacontenttype: "application/json",
    data: createEvent("ticket 2"),
  };
  await send(EVENTS_TOPIC, [
    { key: "ticket 1", value: JSON.stringify(createEvent("ticket 1")) },
    {
      key: "ticket 2",
      value: JSON.stringify(cloudEvent),
      headers: { "content-type": "application/cloudevents+json" },
    },
  ]);
  console.log("sent 2 events");
}

async function read(count) {
  const processed = new Set(
    existsSync(PROCESSED_FILE) ? readFileSync(PROCESSED_FILE, "utf8").split("\n") : [],
  );
  // kafkajs reads committed records only unless readUncommitted is set.
  const consumer = kafka.consumer({ groupId: GROUP_ID, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic: EGRESS_TOPIC, fromBeginning: true });
  let records = 0;
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      reject(payload.error);
    });
    consumer
      .run({
        autoCommit: false,
        async eachMessage({ topic, partition, message: { offset, headers, value } }) {
          // The Kafka topic may hold the copies of other topics.
          if (headers["topicsync.topic"].toString() === EXTERNAL_ID && records < count) {
            // The same for every delivery and every copy of an event.
            const id = headers["topicsync.event"].toString();
            if (processed.has(id)) console.log(`skipped ${id}`);
            else {
              const event = JSON.parse(value.toString());
              const { troubleTicket } = (event.data ?? event).event;
              console.log(`processed ${id}: ${troubleTicket.id}`);
              processed.add(id);
              appendFileSync(PROCESSED_FILE, `${id}\n`);
            }
            records += 1;
          }
          await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(offset) + 1n) }]);
          if (records === count) resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
}

const [command, count = "2"] = process.argv.slice(2);
if (command === "announce") await announce();
else if (command === "send") await sendEvents();
else if (command === "read") await read(Number(count));
else {
  console.error("usage: node example.js announce | send | read COUNT");
  process.exitCode = 2;
}
