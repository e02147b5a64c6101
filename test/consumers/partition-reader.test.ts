import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createPartitionReader } from "../../consumers/partition-reader.ts";
import { createLogger } from "../../src/logger.ts";
import type { RecordBatch } from "../../src/records.ts";
import { until } from "../support/poll.ts";

const partition = { topic: "announcements", partition: 0 };
const log = await createLogger("silent");

/** A reader at offset 10, a batch of one record there, and what the broker answers when it is asked for newer records. */
async function scene() {
  const seeks: number[] = [];
  let writes = 0;
  let answers = 0;
  const newer = Promise.withResolvers<number>();
  const reader = createPartitionReader({
    partition,
    member: {
      run: () => Promise.resolve(),
      pause: () => undefined,
      resume: () => undefined,
      seek: (_, offset) => seeks.push(offset),
      commit: () => undefined,
      stop: () => Promise.resolve(),
    },
    watch: {
      bounds: () => Promise.resolve(new Map([[0, { low: 0, high: 20 }]])),
      // The first question is where reading starts.
      firstSince: async () => new Map([[0, (answers += 1) === 1 ? 20 : await newer.promise]]),
      tombstoneRetentionMs: () => Promise.resolve(undefined),
    },
    work: {
      claim: () => Promise.resolve({ offset: 10, epoch: 1, newest: 1_000, isOurs: false }),
      prepare: () => undefined,
      write: () => {
        writes += 1;
        return Promise.resolve();
      },
      confirm: () => undefined,
    },
    log,
    failed: (error) => {
      throw error;
    },
  });
  await until("the reader reads", () => reader.status().state === "reading");
  const batch: RecordBatch = {
    partition,
    records: [{ offset: 10, timestamp: "2000", key: null, value: null, headers: {} }],
    end: 11,
    advance: () => undefined,
    heartbeat: () => Promise.resolve(true),
    isCurrent: () => true,
  };
  const handled = reader.batch(batch);
  await until("the broker is asked", () => answers === 2);
  return { reader, seeks, newer, handled, writes: () => writes };
}

describe("the reader of a partition", () => {
  it("writes a batch that no newer record lies before", async () => {
    const { newer, handled, writes, seeks } = await scene();
    newer.resolve(20);
    await handled;
    assert.deepEqual([writes(), seeks], [1, [10]]);
  });

  it("examines records that may be newer before it writes", async () => {
    const { newer, handled, writes, seeks } = await scene();
    newer.resolve(7);
    await handled;
    assert.deepEqual([writes(), seeks], [0, [10, 7]]);
  });

  it("writes nothing once it is closed", async () => {
    const { reader, newer, handled, writes } = await scene();
    await reader.close();
    newer.resolve(20);
    await handled;
    assert.equal(writes(), 0);
  });

  it("leaves it to the next owner where the partition is read once it is closed", async () => {
    const { reader, newer, handled, seeks } = await scene();
    await reader.close();
    newer.resolve(7);
    await handled;
    assert.deepEqual(seeks, [10]);
  });
});
