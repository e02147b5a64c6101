import assert from "node:assert/strict";
import { before, it } from "node:test";

import type { Broker } from "@topicsync/kafka/client";
import {
  choosePartition,
  createEgressNaming,
  getHeaderText,
  type RoutingTransaction,
  type RoutingTransactions,
} from "@topicsync/kafka";
import { BackfillRun } from "../../../../consumers/backfills/run.ts";
import type { Backfill } from "../../../../src/routing/backfill.ts";
import { createStoredBackfill } from "../../../support/backfills.ts";
import { connectBroker } from "../../../support/broker.ts";
import { createKafkaTopics, waitForTransactions } from "../../../support/kafka-topics.ts";
import { unique } from "../../../support/names.ts";
import { sharedStack, testKafka } from "../../../support/stack.ts";

const { admin, producer } = testKafka(sharedStack().kafka);
const [events, groupId, prefix] = [unique("events"), unique("router"), unique("to")];
/** Each is fetched and sent apart from the others. */
const text = "x".repeat(700_000);
const count = 3;
const broker = await connectBroker();

before(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
  await createKafkaTopics(admin, { topic: events });
  for (let sent = 0; sent < count; sent += 1)
    await producer.send({ topic: events, messages: [{ value: JSON.stringify({ eventType: "E", text }) }] });
  const [position] = await admin.fetchTopicOffsets(events);
  await admin.setOffsets({
    groupId,
    topic: events,
    partitions: [{ partition: 0, offset: position?.high ?? "" }],
  });
});

class Killed extends Error {}

/** A process that is killed before or after its n-th write, after which it does nothing more. */
function createProcess(nth: number, when: "before" | "after") {
  let writes = 0;
  let isKilled = false;
  const write = async <T>(action: () => Promise<T>): Promise<T> => {
    writes += 1;
    if (isKilled || (writes === nth && when === "before")) isKilled = true;
    if (isKilled) throw new Killed();
    const result = await action();
    isKilled = writes === nth;
    if (isKilled) throw new Killed();
    return result;
  };
  const wrapTransaction = (one: RoutingTransaction): RoutingTransaction => ({
    sendAll: (records) => write(() => one.sendAll(records)),
    sendEach: (records) => write(() => one.sendEach(records)),
    commit: () => write(() => one.commit()),
  });
  const wrap = (one: RoutingTransactions): RoutingTransactions => ({
    claim: () => write(() => one.claim()),
    findPosition: () => one.findPosition(),
    begin: async (to) => wrapTransaction(await write(() => one.begin(to))),
    close: () => one.close(),
  });
  return { write, wrap };
}

/** Runs a backfill until it is killed. Returns what is stored of it then, and whether it has ended. */
async function run(stored: Backfill, { write, wrap }: ReturnType<typeof createProcess>) {
  let backfill = stored;
  const kafka = {
    ...broker,
    createTransactions: (of: Parameters<Broker["createTransactions"]>[0]) =>
      wrap(broker.createTransactions(of)),
  };
  const options = {
    router: { topic: events, groupId, maxCopies: 1 },
    naming: createEgressNaming(`${prefix}.{externalId}`, new Set()),
    egressTopics: broker.createEgressTopics(undefined),
    getProofKey: () => Promise.resolve(Buffer.alloc(0)),
    onSent: () => undefined,
    abort: new AbortController().signal,
    ...{ kafka, choosePartition, maxEventBytes: 2_000_000 },
    keep: (ranges: Backfill["ranges"]) =>
      write(async () => {
        backfill = { ...backfill, ranges };
        await Promise.resolve();
      }),
  };
  const isComplete = await new BackfillRun(backfill, options).run().then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof Killed)) throw error;
      return false;
    },
  );
  return { backfill, isComplete };
}

it("loses and repeats nothing, whatever write it is killed before or after", async (t) => {
  const never = createProcess(0, "before");
  let runs = 0;
  for (const when of ["before", "after"] as const)
    for (let nth = 1, isComplete = false; !isComplete; nth += 1) {
      const externalId = `${when}-${nth}`;
      const egressTopic = `${prefix}.${externalId}`;
      await createKafkaTopics(admin, { topic: egressTopic });
      const requested = { ...createStoredBackfill(externalId, ""), egressTopic, rate: 5_000 };
      const first = await run(requested, createProcess(nth, when));
      isComplete = first.isComplete;
      const second = await run(first.backfill, never);
      assert.ok(second.isComplete);
      await waitForTransactions(broker, egressTopic);
      const ids: (string | undefined)[] = [];
      for await (const { record } of broker.read(egressTopic, { abort: new AbortController().signal }))
        ids.push(getHeaderText(record.headers, "topicsync.event"));
      assert.deepEqual(
        ids,
        [0, 1, 2].map((offset) => `${events}-0-${offset}`),
        externalId,
      );
      runs += 1;
    }
  t.diagnostic(`${runs} runs`);
  assert.ok(runs > 20);
});
