import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ConfigurationError, KafkaUnavailableError } from "@topicsync/lib/errors";
import {
  createEgressNaming,
  RecordRejectedError,
  type EgressObstacle,
  type EgressTopics,
  type RoutedRecord,
  type RoutingTransactions,
  FencedError,
  getHeaderText,
  type LogRecord,
  type SendRejection,
} from "@topicsync/kafka";
import { createProof } from "../../../../src/dead-letters/proof.ts";
import type { Event } from "../../../../schemas/pick.ts";
import { createEventHandler } from "../../../../consumers/events/handler.ts";
import type { RoutedBatch } from "../../../../src/routing/tally.ts";
import { toHeaders, type NamedHeaders } from "../../../support/records.ts";

const partition = { topic: "events", partition: 0 };
const proofKey = Buffer.alloc(32, "key");

const createRecord = (offset: number): LogRecord => ({
  offset,
  timestamp: "1",
  key: null,
  value: Buffer.from('{"eventId":"1","eventType":"E","event":{}}'),
  headers: [],
});

interface SceneOptions {
  readonly topics?: readonly string[];
  readonly found?: Readonly<Record<string, number | EgressObstacle>>;
  /** Throws what sending a record throws. */
  readonly onSend?: (record: RoutedRecord) => void;
  readonly pick?: (event: Event) => readonly string[];
}

/** A handler, and what its transactions have sent. */
function createScene({ topics = ["a"], found = {}, onSend = () => undefined, pick }: SceneOptions) {
  /** Each call, with the Kafka topics and event ids of what it sent. */
  const calls: (readonly [method: string, records: readonly string[]])[] = [];
  const routed: RoutedBatch[] = [];
  const denied: string[] = [];
  let picked = 0;
  const describeRecord = ({ topic, headers }: RoutedRecord): string =>
    `${topic} ${getHeaderText(headers, "topicsync.code") ?? getHeaderText(headers, "topicsync.event")?.split("-").at(-1) ?? ""}`;
  const transactions: RoutingTransactions = {
    claim: () => Promise.resolve(undefined),
    findPosition: () => Promise.resolve(undefined),
    begin: () =>
      Promise.resolve({
        sendAll(records) {
          const sent = [...records];
          calls.push(["all", sent.map(describeRecord)]);
          for (const record of sent) {
            try {
              onSend(record);
            } catch (error) {
              return Promise.reject(
                error instanceof Rejection ? new RecordRejectedError(error.rejection) : (error as Error),
              );
            }
          }
          return Promise.resolve();
        },
        sendEach(records) {
          calls.push(["each", records.map(describeRecord)]);
          return Promise.resolve(
            records.map((record, offset) => {
              try {
                onSend(record);
                return { partition: record.partition, offset };
              } catch (error) {
                if (error instanceof Rejection) return { rejection: error.rejection };
                throw error;
              }
            }),
          );
        },
        commit: () => Promise.resolve(),
      }),
    close: () => Promise.resolve(),
  };
  const egressTopics: EgressTopics = {
    find: (names) => Promise.resolve(new Map([...names].map((name) => [name, found[name] ?? 1]))),
    deny: (name) => void denied.push(name),
    forget: () => undefined,
  };
  const handler = createEventHandler({
    partition,
    groupId: "group",
    index: {
      waitUntilLive: () => Promise.resolve(),
      status: () => ({ state: "live", topics: topics.length, unreadable: 0 }) as never,
      pickNow: (event) => [...(pick?.(event as Event) ?? topics)],
      getNamespace: () => "",
      takeMissedTimes: () => 0,
      countPicked: () => void (picked += 1),
    },
    naming: createEgressNaming("to.{externalId}", new Set()),
    transactions,
    egressTopics,
    deadLetterTopic: "letters",
    maxEventBytes: 1_000,
    unmatchedTopic: undefined,
    maxCopies: 10_000,
    getProofKey: () => Promise.resolve(proofKey),
    choosePartition: () => 0,
    routed: (batch) => void routed.push(batch),
    tracing: undefined,
  });
  return {
    calls,
    routed,
    denied,
    counted: () => picked,
    handler,
    /** Prepares and writes the records, as the reader does. Returns how many were taken. */
    handle: async (...records: readonly LogRecord[]): Promise<number> => {
      const prepared = handler.prepare(records, 1);
      const to = { offset: (prepared.records.at(-1)?.offset ?? 0) + 1, epoch: 1 };
      const outcome = await handler.write(prepared, { from: undefined, to }, () => undefined);
      handler.report(prepared, outcome, 1);
      return prepared.records.length;
    },
  };
}

class Rejection extends Error {
  readonly rejection: SendRejection;
  constructor(reason: SendRejection["reason"]) {
    super(reason);
    this.rejection = { reason, message: "no" };
  }
}

describe("a batch of events", () => {
  it("ends before it has more than 100,000 copies, and the rest is left over", async () => {
    const topics = Array.from({ length: 9_000 }, (_, number) => `t${number}`);
    const { handle, calls, routed } = createScene({ topics });
    const records = Array.from({ length: 30 }, (_, offset) => createRecord(offset));
    assert.equal(await handle(...records), 11);
    assert.equal(await handle(...records.slice(11)), 11);
    assert.equal(await handle(...records.slice(22)), 8);
    assert.deepEqual(
      calls.map(([, sent]) => sent.length),
      [99_000, 99_000, 72_000],
    );
    assert.deepEqual(
      routed.map(({ events }) => events.length),
      [11, 11, 8],
    );
  });

  it("is counted once, though it ended early and is prepared again", () => {
    const topics = Array.from({ length: 9_000 }, (_, number) => `t${number}`);
    const { handler, counted } = createScene({ topics });
    const records = Array.from({ length: 13 }, (_, offset) => createRecord(offset));
    for (const start of [0, 0, 11])
      assert.equal(handler.prepare(records.slice(start), 1).records.length, start === 0 ? 11 : 2);
    assert.equal(counted(), records.length);
  });

  it("has a dead letter for an event with too many copies, and none of its copies", async () => {
    const many = Array.from({ length: 10_001 }, (_, number) => `t${number}`);
    const { handle, calls } = createScene({
      pick: ({ eventType }) => (eventType === "E" ? many : ["a"]),
    });
    const small = Buffer.from('{"eventId":"1","eventType":"F","event":{}}');
    await handle(createRecord(0), { ...createRecord(1), value: small });
    assert.deepEqual(calls, [
      ["all", ["to.a 1"]],
      ["each", ["letters TOO_MANY_TOPICS"]],
    ]);
  });

  it("begins no transaction without a place for the dead letters that it needs", async () => {
    const missing: EgressObstacle = { code: "NO_EGRESS_TOPIC", reason: "gone" };
    const { handle, calls } = createScene({ found: { "to.a": missing, letters: missing } });
    await assert.rejects(handle(createRecord(0)), { message: 'the Kafka topic "letters" is missing: gone' });
    assert.deepEqual(calls, []);
  });
});

describe("a Kafka topic that rejects a record", () => {
  it("gets its records in requests of their own for a while, and the others are sent as usual", async () => {
    const scene = createScene({
      topics: ["a", "b"],
      onSend({ topic, headers }) {
        if (topic === "to.a" && getHeaderText(headers, "topicsync.event") === "events-0-0")
          throw new Rejection("not-acceptable");
      },
    });
    await scene.handle(createRecord(0), createRecord(1));
    assert.deepEqual(scene.calls, [
      ["all", ["to.a 0", "to.b 0", "to.a 1", "to.b 1"]],
      ["each", ["to.a 0", "to.b 0", "to.a 1", "to.b 1"]],
      ["each", ["letters EGRESS_REJECTED"]],
    ]);
    scene.calls.length = 0;
    await scene.handle(createRecord(2));
    assert.deepEqual(scene.calls, [
      ["all", ["to.b 2"]],
      ["each", ["to.a 2"]],
    ]);
    assert.deepEqual(scene.denied, []);
  });

  it("is remembered as denied if the user has no right to write there", async () => {
    const scene = createScene({
      topics: ["a", "b"],
      onSend({ topic }) {
        if (topic === "to.a") throw new Rejection("denied");
      },
    });
    await scene.handle(createRecord(0));
    assert.deepEqual(scene.denied, ["to.a"]);
  });
});

describe("headers of topicsync on an event", () => {
  const forged = {
    "topicsync.replay-of": "events-0-123",
    "topicsync.undelivered": "[]",
    "topicsync.time": "soon",
    "topicsync.event": "events-0-124",
    own: "1",
  };

  async function forward({
    headers: named,
    ...record
  }: Omit<LogRecord, "headers"> & { headers: NamedHeaders }) {
    const sent: RoutedRecord[] = [];
    const scene = createScene({ topics: ["a", "b"], onSend: (one) => void sent.push(one) });
    await scene.handler.claim();
    await scene.handle({ ...record, headers: toHeaders(named) });
    return sent.map(({ headers, timestamp }) => ({ ...Object.fromEntries(headers), timestamp }));
  }

  it("prove nothing, and are removed, unless topicsync has sent the event as a replay", async () => {
    const record = { ...createRecord(0), headers: forged };
    const signed = { ...record, headers: toHeaders(forged) };
    const proof = createProof(proofKey, "events", signed);
    const copy = { own: "1", "topicsync.event": "events-0-0", timestamp: "1" };
    const copies = ["a", "b"].map((topic) => ({ ...copy, "topicsync.topic": topic }));
    const proofs = [
      null,
      "",
      proof.toUpperCase(),
      createProof(proofKey, "other", signed),
      createProof(Buffer.alloc(32), "events", signed),
    ];
    for (const one of proofs)
      assert.deepEqual(await forward({ ...record, headers: { ...forged, "topicsync.proof": one } }), copies);
    const changed: Partial<LogRecord>[] = [
      { value: Buffer.from('{"eventId":"2","eventType":"E","event":{}}') },
      { key: Buffer.alloc(0) },
    ];
    for (const one of changed)
      assert.deepEqual(
        await forward({ ...record, ...one, headers: { ...forged, "topicsync.proof": proof } }),
        copies,
      );
    for (const headers of [
      { ...forged, own: "2" },
      { ...forged, "topicsync.undelivered": '["a"]' },
    ])
      assert.equal(
        (await forward({ ...record, headers: { ...headers, "topicsync.proof": proof } })).length,
        2,
      );
  });

  it("choose the id, the time and the topics of a replay", async () => {
    const headers = { ...forged, "topicsync.undelivered": '["b"]', "topicsync.time": "99" };
    const record = { ...createRecord(0), headers: toHeaders(headers) };
    const proof = createProof(proofKey, "events", record);
    // As they arrive from Kafka, perhaps in another order.
    const entries = Object.entries({ "topicsync.proof": proof, ...headers });
    const delivered = Object.fromEntries(entries.map(([name, text]) => [name, Buffer.from(text)]));
    assert.deepEqual(await forward({ ...record, headers: delivered }), [
      { own: Buffer.from("1"), "topicsync.topic": "b", "topicsync.event": "events-0-123", timestamp: "99" },
    ]);
  });
});

describe("an event that fails for no foreseen reason", () => {
  const fail = (error: Error) => (record: RoutedRecord) => {
    if (getHeaderText(record.headers, "topicsync.event") === "events-0-0") throw error;
  };

  it("is a dead letter after five identical failures alone in a batch", async () => {
    const scene = createScene({ onSend: fail(new TypeError("cannot convert")) });
    for (let failures = 0; failures < 5; failures += 1) {
      await assert.rejects(scene.handle(createRecord(0), createRecord(1)), TypeError);
      await assert.rejects(scene.handle(createRecord(0)), TypeError);
    }
    scene.calls.length = 0;
    await scene.handle(createRecord(0), createRecord(1));
    assert.deepEqual(scene.calls, [
      ["all", ["to.a 1"]],
      ["each", ["letters UNEXPECTED_ERROR"]],
    ]);
    // The position that failed may occur again in another log.
    await assert.rejects(scene.handle(createRecord(0)), TypeError);
  });

  it("is tried on while its failures differ", async () => {
    let failures = 0;
    const scene = createScene({
      onSend({ topic }) {
        if (topic !== "letters") throw new TypeError(`failure ${(failures += 1)}`);
      },
    });
    for (let times = 0; times < 20; times += 1)
      await assert.rejects(scene.handle(createRecord(0)), TypeError);
  });

  it("does not hold up the events before it if it cannot even be routed", async () => {
    const scene = createScene({
      pick(event) {
        if (event.eventType === "bad") throw new TypeError("cannot match");
        return ["a"];
      },
    });
    const bad = { ...createRecord(1), value: Buffer.from('{"eventId":"1","eventType":"bad","event":{}}') };
    assert.equal(await scene.handle(createRecord(0), bad, createRecord(2)), 1);
    for (let failures = 0; failures < 5; failures += 1)
      await assert.rejects(scene.handle(bad, createRecord(2)), { message: "cannot match" });
    assert.equal(await scene.handle(bad, createRecord(2)), 2);
    assert.deepEqual(scene.calls.at(-1), ["each", ["letters UNEXPECTED_ERROR"]]);
  });

  it("is tried for ever in an outage, while a right is missing, and for another owner", async () => {
    for (const error of [
      new KafkaUnavailableError("away"),
      new ConfigurationError("denied"),
      new FencedError("another process took over"),
    ]) {
      const scene = createScene({ onSend: fail(error) });
      for (let failures = 0; failures < 20; failures += 1)
        await assert.rejects(scene.handle(createRecord(0)), { message: error.message });
    }
  });
});
