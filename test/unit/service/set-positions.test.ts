import assert from "node:assert/strict";
import { it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import type { LogStore, Position } from "@topicsync/kafka";
import { setPosition } from "../../../src/service/kafka/set-positions.ts";

const log = {
  ...{
    topicId: "first",
    clusterId: "cluster",
    low: 0,
    high: 100,
    stable: 100,
    partitions: 1,
    leader: 1,
    leaderEpoch: 0,
  },
};

/** A consumer that moves its position before each of the first attempts to set it. */
function createConsumer(moves: number, onConfirm: () => void = () => undefined) {
  let stored: Position = { offset: 10, epoch: 1, topicId: "first", clusterId: "cluster" };
  let left = moves;
  const set: Position[] = [];
  const consumer = {
    ...{ name: "events", group: "group", topic: "events", isInKafka: false },
    watch: {
      fetchLog: () => Promise.resolve(log),
      confirmLog: async () => {
        await Promise.resolve();
        onConfirm();
      },
    },
    observer: {
      fetchBounds: () => Promise.resolve(new Map([[0, log]])),
      findFirstSince: () => Promise.resolve(new Map()),
    },
    logs: {
      findLogs: () => Promise.resolve([]),
      findEpoch: () => Promise.resolve(1),
      beginEpoch: (_partition, _log, lowest) => Promise.resolve(lowest),
    } satisfies LogStore,
    findPositions: () => Promise.resolve(new Map([[0, stored]])),
    setPosition(_partition: number, from: Position | undefined, to: Position) {
      if (left > 0) {
        left -= 1;
        stored = { ...stored, offset: stored.offset + 1 };
      }
      if (from?.offset !== stored.offset) return Promise.resolve(false);
      stored = to;
      set.push(to);
      return Promise.resolve(true);
    },
  };
  return { consumer, set };
}

it("a position that moves again and again is set once, from where it was last", async () => {
  const { consumer, set } = createConsumer(2);
  const replaced = await setPosition(consumer, { partition: 0, offset: 3 });
  assert.equal(replaced?.offset, 12);
  assert.deepEqual(set, [{ offset: 3, epoch: 1, topicId: "first", clusterId: "cluster" }]);
});

it("a position is not set in an outage between two attempts, and not tried for ever", async () => {
  let confirmations = 0;
  const away = new UnavailableError("away");
  const { consumer, set } = createConsumer(1, () => {
    confirmations += 1;
    if (confirmations === 2) throw away;
  });
  await assert.rejects(setPosition(consumer, { partition: 0, offset: 3 }), away);
  const busy = createConsumer(Infinity);
  await assert.rejects(setPosition(busy.consumer, { partition: 0, offset: 3 }), /was moved 50 times/u);
  assert.deepEqual([set, busy.set], [[], []]);
});
