import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { readPartitionStatuses, type ConsumerStatus } from "../../../consumers/partition-status.ts";

/** A log of one partition that grows by one record, applied at once, with each query. */
function createGrowingLog() {
  let end = 1_000;
  const query = async (): Promise<number> => {
    const seen = (end += 1);
    // The answers come in another order than the queries.
    if (seen % 2 === 1) await nextTurn();
    return seen;
  };
  return {
    observer: {
      async fetchBounds() {
        const high = await query();
        return new Map([[0, { low: 0, high, stable: high }]]);
      },
      fetchOwners: async () => new Map([[0, String(await query())]]),
      findFirstSince: async () => new Map([[0, await query()]]),
    },
    positions: async () => new Map([[0, { offset: await query(), epoch: 1 }]]),
    consumer: (): ConsumerStatus => ({
      state: "assigned",
      partitions: [
        {
          topic: "t",
          partition: 0,
          state: "reading",
          reason: undefined,
          cause: undefined,
          offset: (end += 1),
        },
      ],
    }),
  };
}

describe("the status of a group in a growing log", () => {
  for (const [store, isThere] of [
    ["the store tells", true],
    ["this process alone knows, while the store does not answer", false],
  ] as const)
    it(`is close to its end, as ${store}`, async () => {
      const { observer, positions, consumer } = createGrowingLog();
      for (let times = 1; times <= 20; times += 1) {
        const { partitions } = await readPartitionStatuses(
          {
            group: "g",
            topic: "t",
            observer,
            consumer,
            store: { findPositions: isThere ? positions : () => Promise.reject(new Error("away")) },
          },
          (_, question) => question.catch(() => undefined),
        );
        const behind = partitions[0]?.lagRecords ?? Infinity;
        assert.ok(behind < 10, `${behind} records behind`);
      }
    });
});

it("the status has a partition without a leader, which has an owner but no bounds", async () => {
  const { partitions } = await readPartitionStatuses(
    {
      group: "g",
      topic: "t",
      observer: {
        fetchBounds: (scope) => {
          assert.equal(scope, "led");
          return Promise.resolve(new Map([[0, { low: 0, high: 7, stable: 7 }]]));
        },
        fetchOwners: () =>
          Promise.resolve(
            new Map([
              [0, "a"],
              [1, "b"],
            ]),
          ),
        findFirstSince: () => Promise.resolve(new Map([[0, 7]])),
      },
      consumer: undefined,
      store: { findPositions: () => Promise.resolve(new Map([[0, { offset: 7, epoch: 1 }]])) },
    },
    (_, question) => question.catch(() => undefined),
  );
  assert.deepEqual(
    partitions.map(({ partition, owner, logEnd, lagRecords }) => [partition, owner, logEnd, lagRecords]),
    [
      [0, "a", 7, 0],
      [1, "b", null, null],
    ],
  );
});
