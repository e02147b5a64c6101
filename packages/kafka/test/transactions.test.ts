import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { InvariantError } from "@topicsync/lib/invariant";
import { createEventHandler } from "../../../consumers/events/handler.ts";
import { createEgressNaming } from "../interface/egress-naming.ts";
import type { RoutedRecord, RoutingTransactions } from "../interface/routing-transactions.ts";
import { getHeaderText, type LogRecord } from "../interface/records.ts";
import { connectBroker } from "../../../test/support/broker.ts";
import { createKafkaTopics, waitForTransactions } from "../../../test/support/kafka-topics.ts";
import { unique } from "../../../test/support/names.ts";
import { until } from "../../../test/support/poll.ts";
import { sharedStack, testKafka } from "../../../test/support/stack.ts";
import { createOfflineTransactions } from "./offline-transactions.ts";

const { admin } = testKafka(sharedStack().kafka);
await admin.connect();
const broker = await connectBroker();

/** A fault of the program: no client can encode this timestamp. */
const corrupt = (record: RoutedRecord): RoutedRecord => ({ ...record, timestamp: "soon" });
const fault = { name: "SyntaxError", message: "Cannot convert soon to a BigInt" };

async function createScene() {
  const [events, egress, letters, groupId] = ["events", "egress", "letters", "group"].map(unique) as [
    string,
    string,
    string,
    string,
  ];
  await createKafkaTopics(admin, ...[events, egress, letters].map((topic) => ({ topic, numPartitions: 1 })));
  const partition = { topic: events, partition: 0 };
  const transactions = broker.createTransactions({ partition, groupId });
  after(() => transactions.close());
  // A new broker loads its coordinators with the first transaction.
  await until("the coordinators are loaded", async () => {
    await transactions.claim();
    await (await transactions.begin({ offset: 0, epoch: 1 })).commit();
    return true;
  });
  return { partition, egress, letters, groupId, transactions };
}

async function readAll(topic: string): Promise<LogRecord[]> {
  await waitForTransactions(broker, topic);
  const records: LogRecord[] = [];
  for await (const { record } of broker.read(topic, { abort: new AbortController().signal }))
    records.push(record);
  return records;
}

describe("a fault of the program in a transaction", () => {
  for (const method of ["sendAll", "sendEach"] as const)
    it(`is reported as itself, and as no outage, by ${method}`, async () => {
      const { egress, transactions } = await createScene();
      await transactions.claim();
      const transaction = await transactions.begin({ offset: 1, epoch: 1 });
      const record = { topic: egress, partition: 0, key: null, value: null, headers: [], timestamp: "1" };
      const error: unknown = await transaction[method]([corrupt(record)]).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof SyntaxError);
      assert.equal(error.message, fault.message);
    });

  it("makes a dead letter of the event that fails five times alone", async () => {
    const scene = await createScene();
    const handler = createHandler(scene, withFault(scene.transactions, `${scene.partition.topic}-0-0`));
    const records = [0, 1].map(createEvent);
    const write = async (written: readonly LogRecord[]): Promise<void> => {
      await scene.transactions.claim();
      const to = { offset: (written.at(-1)?.offset ?? 0) + 1, epoch: 1 };
      await handler.write(handler.prepare(written, 1), { from: undefined, to }, () => undefined);
    };
    for (let failures = 0; failures < 5; failures += 1)
      await assert.rejects(write(records.slice(0, 1)), fault);
    await write(records);
    const copies = await readAll(scene.egress);
    assert.deepEqual(
      copies.map(({ headers }) => getHeaderText(headers, "topicsync.event")),
      [`${scene.partition.topic}-0-1`],
    );
    const [letter, ...others] = await readAll(scene.letters);
    assert.ok(letter !== undefined && others.length === 0);
    assert.equal(getHeaderText(letter.headers, "topicsync.code"), "UNEXPECTED_ERROR");
    assert.deepEqual(letter.value, records[0]?.value);
    assert.equal((await scene.transactions.claim())?.offset, 2);
  });
});

/** Transactions without a broker, whose producers cannot be disconnected. */
function createOffline() {
  const disconnected = Promise.withResolvers<unknown>();
  const producer = {
    events: {},
    on: () => undefined,
    connect: () => Promise.resolve(),
    transaction: () =>
      Promise.resolve({ sendOffsets: () => Promise.resolve(), commit: () => Promise.resolve() }),
    disconnect: () => Promise.reject(new Error("no connection")),
  };
  const transactions = createOfflineTransactions(producer, {
    fetchStableOffset: () => Promise.resolve({ offset: 3, metadata: "" }),
    debug: ({ reason }) => {
      disconnected.resolve(reason);
    },
  });
  return { transactions, disconnected: disconnected.promise };
}

it("closes although its producer cannot be disconnected", async () => {
  const { transactions, disconnected } = createOffline();
  assert.equal((await transactions.claim())?.offset, 3);
  await transactions.close();
  assert.equal(await disconnected, "no connection");
  await assert.rejects(transactions.claim(), { name: "UnavailableError" });
});

it("has one open transaction at most, which ends with its commit", async () => {
  const { transactions } = createOffline();
  const to = { offset: 4, epoch: 1 };
  await transactions.claim();
  await (await transactions.begin(to)).commit();
  const transaction = await transactions.begin(to);
  await transaction.commit();
  await assert.rejects(transaction.commit(), InvariantError);
  await assert.rejects(transactions.begin(to), { name: "UnavailableError" }, "not claimed after an error");
  await transactions.claim();
  await transactions.begin(to);
  await assert.rejects(transactions.begin(to), InvariantError);
});

const createEvent = (offset: number): LogRecord => ({
  offset,
  // Recent, since Kafka deletes old records.
  timestamp: String(Date.now()),
  key: null,
  value: Buffer.from('{"eventId":"1","eventType":"E","event":{}}'),
  headers: [],
});

/** The same transactions, except that copies of an event cannot be encoded. */
const withFault = (transactions: RoutingTransactions, event: string): RoutingTransactions => ({
  claim: () => transactions.claim(),
  findPosition: () => transactions.findPosition(),
  close: () => transactions.close(),
  async begin(to) {
    const transaction = await transactions.begin(to);
    const isFaulty = ({ headers }: RoutedRecord): boolean =>
      getHeaderText(headers, "topicsync.event") === event;
    return {
      ...transaction,
      sendAll: (sent) =>
        transaction.sendAll([...sent].map((record) => (isFaulty(record) ? corrupt(record) : record))),
    };
  },
});

const createHandler = (
  { partition, egress, letters, groupId }: Awaited<ReturnType<typeof createScene>>,
  transactions: RoutingTransactions,
) =>
  createEventHandler({
    partition,
    groupId,
    index: {
      waitUntilLive: () => Promise.resolve(),
      status: () => ({ state: "live", topics: 1, unreadable: 0 }) as never,
      pickNow: () => ["a"],
      getNamespace: () => "",
      takeMissedTimes: () => 0,
      countPicked: () => undefined,
    },
    naming: createEgressNaming(egress, new Set()),
    transactions,
    egressTopics: broker.createEgressTopics(undefined),
    deadLetterTopic: letters,
    maxEventBytes: 1_000,
    unmatchedTopic: undefined,
    maxCopies: 10_000,
    getProofKey: () => Promise.resolve(Buffer.alloc(32)),
    choosePartition: () => 0,
    routed: () => undefined,
    tracing: undefined,
  });
