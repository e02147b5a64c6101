import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs, { type Consumer } from "kafkajs";

import { createMember } from "../../../src/kafka/consumer.ts";
import { loadPrivate } from "../../../src/kafka/workarounds/patch.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { until } from "../../support/poll.ts";

type Retry = (options: { readonly retries: number }) => (attempt: () => Promise<void>) => Promise<void>;

const log = await createLogger("silent");

/** Runs a member, lets its consumer crash, and returns how often it ran and what it died of. */
async function crash(error: unknown) {
  const listeners = new Map<string, (event: object) => void>();
  let runs = 0;
  const consumer = {
    events: {
      GROUP_JOIN: "join",
      HEARTBEAT: "heartbeat",
      STOP: "stop",
      CRASH: "crash",
      REQUEST_TIMEOUT: "timeout",
    },
    on: (event: string, listener: (event: object) => void) => listeners.set(event, listener),
    connect: () => Promise.resolve(),
    subscribe: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    run() {
      runs += 1;
      return Promise.resolve();
    },
  };
  const kafka = Object.assign(new kafkajs.Kafka({ brokers: ["unused:9092"] }), {
    consumer: () => consumer as unknown as Consumer,
  });
  const member = createMember(
    { kafka, dropConnection: () => undefined, close: () => undefined },
    { groupId: "group", topic: "topic", commitsOffsets: false, log },
  );
  const died: Error[] = [];
  await member.run({
    onAssigned: () => undefined,
    onBatch: () => Promise.resolve(),
    onDied: (reason) => died.push(reason),
  });
  listeners.get("crash")?.({ payload: { error, groupId: "group", restart: false } });
  await until("the member ran again or died", () => runs === 2 || died.length > 0);
  await member.stop();
  return { runs, died };
}

/** As kafkajs throws it while a running member joins again (consumer/runner.js). */
async function wrap(error: Error): Promise<unknown> {
  const createRetry = loadPrivate("retry/index.js") as Retry;
  return createRetry({ retries: 0 })(() => Promise.reject(error)).catch((wrapped: unknown) => wrapped);
}

// The types do not have its argument.
const outage = Reflect.construct(kafkajs.KafkaJSGroupCoordinatorNotFound, ["no coordinator"]) as Error;

it("joins again after an outage of the group's coordinator", async () => {
  assert.deepEqual(await crash(outage), { runs: 2, died: [] });
  const wrapped = await wrap(outage);
  assert.ok(!(wrapped instanceof kafkajs.KafkaJSGroupCoordinatorNotFound));
  assert.deepEqual(await crash(wrapped), { runs: 2, died: [] });
});

it("dies of every other error", async () => {
  const error = new kafkajs.KafkaJSNonRetriableError("unexpected");
  assert.deepEqual(await crash(error), { runs: 1, died: [error] });
});
