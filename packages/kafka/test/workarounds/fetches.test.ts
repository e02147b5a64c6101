import assert from "node:assert/strict";
import { it } from "node:test";

import { loadPrivate } from "../../workarounds/patch.ts";
import { deliverEmptyBatches } from "../../workarounds/runner.ts";
import { fetchByTopicId, findOrigin } from "../../workarounds/fetches.ts";

type Class = new (options: object) => Record<string, (...args: unknown[]) => Promise<unknown>>;
interface Sent {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    encode(): Promise<{ readonly buffer: Buffer }>;
  };
}

const silent = { namespace: () => silent, debug: () => undefined, error: () => undefined };
const Broker = loadPrivate("broker/index.js") as Class;

/** A broker of kafkajs with these versions of requests, which records what it sends, and gets no response. */
function createBroker(versions: Readonly<Record<number, number>>) {
  const sent: Sent[] = [];
  const connectionPool = {
    host: "unused",
    port: 9092,
    send(request: Sent) {
      sent.push(request);
      return Promise.reject(new Error("no response"));
    },
  };
  const known = Object.fromEntries(
    Object.entries(versions).map(([key, maxVersion]) => [key, { minVersion: 0, maxVersion }]),
  );
  const broker = new Broker({ connectionPool, logger: silent });
  const { lookup } = loadPrivate("protocol/requests/index.js") as { lookup: (versions: object) => unknown };
  return { broker: Object.assign(broker, { versions: known, lookupRequest: lookup(known) }), sent };
}

it("asks for the topic id before it fetches, where stock kafkajs fetches by name", async () => {
  const request = {
    maxWaitTime: 1,
    minBytes: 1,
    maxBytes: 1,
    isolationLevel: 1,
    rackId: "",
    topics: [{ topic: "t", partitions: [{ partition: 0, fetchOffset: "0", maxBytes: 1 }] }],
  };
  const { broker, sent } = createBroker({ 1: 13, 3: 12 });
  await assert.rejects(async () => broker["fetch"]?.(request));
  assert.deepEqual(
    sent.map(({ request: { apiKey, apiVersion } }) => [apiKey, apiVersion]),
    [[1, 11]],
    "kafkajs no longer needs fetchByTopicId",
  );
  fetchByTopicId();
  await assert.rejects(async () => broker["fetch"]?.(request));
  assert.deepEqual([sent[1]?.request.apiKey, sent[1]?.request.apiVersion], [3, 12]);
  const old = createBroker({ 1: 12, 3: 12 });
  await assert.rejects(async () => old.broker["fetch"]?.(request));
  assert.deepEqual([old.sent[0]?.request.apiKey, old.sent[0]?.request.apiVersion], [1, 11]);
});

it("turns an offset out of range into a placeholder, for which stock kafkajs commits another offset", async () => {
  const { broker } = createBroker({ 1: 11 });
  const errors = loadPrivate("errors") as Record<string, new (error: Error, details: object) => Error>;
  const { KafkaJSOffsetOutOfRange } = errors;
  assert.ok(KafkaJSOffsetOutOfRange);
  const outOfRange = new KafkaJSOffsetOutOfRange(new Error("out of range"), { topic: "t", partition: 3 });
  Object.assign(broker, { connectionPool: { send: () => Promise.reject(outOfRange) } });
  fetchByTopicId();
  const topics = [{ topic: "t", partitions: [{ partition: 3, fetchOffset: "17", maxBytes: 1 }] }];
  const fetched = (await broker["fetch"]?.({ topics })) as
    | {
        responses: {
          topicName: string;
          partitions: { partition: number; messages: { offset: string }[] }[];
        }[];
      }
    | undefined;
  const [first] = fetched?.responses ?? [];
  const [response] = first?.partitions ?? [];
  assert.deepEqual([first?.topicName, response?.partition], ["t", 3]);
  assert.deepEqual(
    response?.messages.map(({ offset }) => offset),
    ["17"],
  );
  const batch = { fetchedOffset: "17", rawMessages: response.messages };
  assert.deepEqual(findOrigin(batch as never), { topicId: undefined, isOutOfRange: true, fetchedFrom: 17 });
});

it("hands batches from which nothing is delivered to the handler, which stock kafkajs does not call", async () => {
  const Runner = loadPrivate("consumer/runner.js") as { prototype: Record<string, unknown> };
  const handled: string[] = [];
  const createRunner = () =>
    Object.assign(Object.create(Runner.prototype) as Record<string, (batch: object) => Promise<void>>, {
      running: true,
      instrumentationEmitter: { emit: () => undefined },
      consumerGroup: { resolveOffset: () => handled.push("resolved") },
      autoCommitOffsetsIfNecessary: () => Promise.resolve(),
      heartbeat: () => Promise.resolve(),
      processEachBatch: () => Promise.resolve(handled.push("handled")),
    });
  const batch = {
    topic: "t",
    partition: 0,
    messages: [],
    isEmpty: () => true,
    isEmptyDueToFiltering: () => true,
    firstOffset: () => "0",
    lastOffset: () => "1",
    offsetLag: () => "0",
    offsetLagLow: () => "0",
  };
  await createRunner()["handleBatch"]?.(batch);
  assert.deepEqual(handled, ["resolved"], "kafkajs no longer needs deliverEmptyBatches");
  deliverEmptyBatches();
  await createRunner()["handleBatch"]?.(batch);
  assert.deepEqual(handled, ["resolved", "handled"]);
});

it("rejects a response with a partition that was not requested, or that ends before the requested offset", async () => {
  const { broker } = createBroker({ 1: 11 });
  fetchByTopicId();
  const topics = [{ topic: "t", partitions: [{ partition: 3, fetchOffset: "17", maxBytes: 1 }] }];
  const respond = (topicName: string, partition: number, offset: string): Promise<unknown> => {
    const messages = [{ offset, key: null }];
    const responses = [{ topicName, partitions: [{ partition, messages }] }];
    Object.assign(broker, { connectionPool: { send: () => Promise.resolve({ responses }) } });
    return broker["fetch"]?.({ topics }) ?? Promise.resolve();
  };
  await respond("t", 3, "17");
  for (const [topic, partition, offset] of [
    ["other", 3, "17"],
    ["t", 4, "17"],
    ["t", 3, "16"],
  ] as const)
    await assert.rejects(respond(topic, partition, offset), {
      name: "KafkaJSConnectionError",
      message: /^the response to Fetch cannot be read: /,
    });
});
