import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { createBroker } from "@topicsync/kafka/client";
import { toLogRecord } from "@topicsync/kafka/internals";
import { createLogger } from "@topicsync/lib/logger";
import { getHeaderText, type LogRecord } from "@topicsync/kafka";
import { sendDeadLetters, type OutgoingDeadLetter } from "../../../consumers/dead-letter-sender.ts";
import { readConfig } from "../../../src/config/config.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { kafka, admin } = testKafka(stack.kafka);
const topic = unique("small-letters");
const config = { ...readConfig({}).kafka, brokers: [stack.kafka] };
const producer = createBroker(config, await createLogger("silent")).createProducer(topic);
const consumer = kafka.consumer({ groupId: unique("letters"), maxWaitTimeInMs: 100 });
const received: LogRecord[] = [];

before(async () => {
  await Promise.all([admin.connect(), consumer.connect()]);
  const configEntries = [
    { name: "max.message.bytes", value: "4000" },
    { name: "message.timestamp.after.max.ms", value: "1000" },
  ];
  await createKafkaTopics(admin, { topic, numPartitions: 1, configEntries });
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => Promise.resolve(void received.push(toLogRecord(message))),
  });
});
after(() => Promise.all([producer.close(), consumer.disconnect()]));

const ownHeaders = [
  ["own", "header"],
  ["none", null],
] as const;
const createLetter = (offset: number, value: Buffer | null, message = "not good"): OutgoingDeadLetter => ({
  partition: { topic: "source", partition: 3 },
  epoch: 1,
  record: { offset, timestamp: "1700000000000", key: Buffer.from("k"), value, headers: ownHeaders },
  rejection: new RejectionError("MALFORMED_JSON", message, [{ path: "/a", message: "is wrong" }]),
});
const receiveAt = (offset: number): Promise<LogRecord> =>
  until(`letter ${offset}`, () =>
    received.find(({ headers }) => getHeaderText(headers, "__connect.errors.offset") === String(offset)),
  );

describe("a dead letter", () => {
  it("contains the record, and the reason in its headers", async () => {
    await sendDeadLetters(producer, [createLetter(1, Buffer.from("{"))]);
    const { key, value, timestamp, headers } = await receiveAt(1);
    assert.deepEqual([String(key), String(value), timestamp], ["k", "{", "1700000000000"]);
    const texts = Object.fromEntries(
      headers.map(([name, text]) => [name, text === null ? null : String(text)]),
    );
    assert.deepEqual(texts, {
      own: "header",
      none: null,
      "__connect.errors.topic": "source",
      "__connect.errors.partition": "3",
      "__connect.errors.offset": "1",
      "__connect.errors.exception.class.name": "topicsync.MALFORMED_JSON",
      "__connect.errors.exception.message": "not good",
      "topicsync.id": "source-3-1",
      "topicsync.code": "MALFORMED_JSON",
      "topicsync.details": '[{"path":"/a","message":"is wrong"}]',
      "topicsync.epoch": "1",
    });
  });

  it("names the epoch of the log, from the second one on also in its id", async () => {
    await sendDeadLetters(producer, [{ ...createLetter(11, Buffer.from("{")), epoch: 2 }]);
    const { headers } = await receiveAt(11);
    assert.deepEqual(
      [getHeaderText(headers, "topicsync.id"), getHeaderText(headers, "topicsync.epoch")],
      ["source-3-11-2", "2"],
    );
  });

  it("that is too large for the broker is sent as a reference, the others as a whole", async () => {
    await sendDeadLetters(producer, [
      createLetter(2, Buffer.from("a")),
      createLetter(3, Buffer.alloc(9_000, "x")),
      createLetter(4, Buffer.from("b")),
    ]);
    assert.equal(String((await receiveAt(2)).value), "a");
    assert.equal(String((await receiveAt(4)).value), "b");
    const reference = await receiveAt(3);
    assert.equal(reference.value, null);
    const omitted = getHeaderText(reference.headers, "topicsync.omitted") ?? "";
    assert.match(omitted, /9000 bytes are at offset 3 of source-3/);
    assert.equal(getHeaderText(reference.headers, "topicsync.code"), "MALFORMED_JSON");
  });

  it("that no broker would accept is sent as a reference at once", async () => {
    const sent: number[] = [];
    const send: typeof producer.send = (records) => {
      sent.push(...records.map(({ value }) => value?.length ?? 0));
      return producer.send(records);
    };
    await sendDeadLetters({ send }, [createLetter(8, Buffer.alloc(17 * 1024 * 1024))]);
    assert.match(
      getHeaderText((await receiveAt(8)).headers, "topicsync.omitted") ?? "",
      /17825792 bytes are at offset 8/,
    );
    assert.deepEqual(sent, [0]);
  });

  it("that is too large and from the future is sent as a reference with its timestamp", async () => {
    const { record, ...rest } = createLetter(6, Buffer.alloc(9_000, "x"));
    const timestamp = String(Date.now() + 86_400_000);
    await sendDeadLetters(producer, [createLetter(7, null), { ...rest, record: { ...record, timestamp } }]);
    const { value, headers } = await receiveAt(6);
    assert.equal(value, null);
    assert.match(getHeaderText(headers, "topicsync.omitted") ?? "", /offset 6 of source-3/);
    assert.equal(getHeaderText(headers, "topicsync.time"), timestamp);
    assert.equal((await receiveAt(7)).timestamp, "1700000000000");
  });

  it("that cannot be sent at all blocks the sync", async () => {
    const tooLong = createLetter(5, Buffer.from("x"), "m".repeat(8_000));
    await assert.rejects(sendDeadLetters(producer, [tooLong]), UnavailableError);
  });
});
