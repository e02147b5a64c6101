/** How long a claim waits for the broker to complete the last transaction. */
import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs from "kafkajs";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { replacePlatform } from "@topicsync/lib/platform";
import { createOfflineTransactions } from "./offline-transactions.ts";

const producer = {
  events: {},
  on: () => undefined,
  connect: () => Promise.resolve(),
  transaction: () => Promise.resolve({}),
  disconnect: () => Promise.resolve(),
};

it("ends ten seconds after its first request, with the answer of the broker", async (t) => {
  let time = 0;
  const waits: number[] = [];
  const platform = replacePlatform({
    now: Date.now,
    elapsed: () => time,
    schedule(delayMs, action) {
      waits.push(delayMs);
      time += delayMs;
      const immediate = setImmediate(action);
      return () => {
        clearImmediate(immediate);
      };
    },
    scheduleSoon: () => () => undefined,
    random: () => 0.5,
    fillRandom: () => undefined,
  });
  t.after(() => replacePlatform(platform));
  const requestMs = 10;
  const transactions = createOfflineTransactions(producer, {
    fetchStableOffset() {
      time += requestMs;
      return Promise.reject(Object.assign(new Error("not yet"), { type: "UNSTABLE_OFFSET_COMMIT" }));
    },
  });
  await assert.rejects(transactions.claim(), (error) => {
    assert.ok(error instanceof KafkaUnavailableError);
    assert.equal(error.message, "Kafka does not complete a transaction (UNSTABLE_OFFSET_COMMIT)");
    return true;
  });
  assert.ok(time > 10_000 && time < 10_100, `${time} ms`);
  assert.equal(waits[0], 3, "often at first");
  assert.equal(waits.at(-1), 50, "then less often");
  assert.ok(waits.length < 200, `${waits.length} requests`);
});

it("also waits while a busy former producer has a transaction open", async () => {
  let failures = 0;
  const busy = {
    ...producer,
    transaction() {
      failures += 1;
      if (failures > 3) return Promise.resolve({});
      const cause = new kafkajs.KafkaJSProtocolError(
        Object.assign(new Error("not yet"), { type: "CONCURRENT_TRANSACTIONS" }),
      );
      // As kafkajs reports it after its own retries.
      return Promise.reject(
        new kafkajs.KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 5, retryTime: 1, cause } as never),
      );
    },
  };
  const transactions = createOfflineTransactions(busy, {
    fetchStableOffset: () => Promise.resolve({ offset: 3, metadata: "" }),
  });
  assert.equal((await transactions.claim())?.offset, 3);
});
