import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";

import type { BatchHandler, PreparedBatch } from "../../../consumers/batch.ts";
import { createPartitionReader } from "../../../consumers/partition-reader.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { RecordBatch } from "../../../src/sync/records.ts";
import { until } from "../../support/poll.ts";

const partition = { topic: "announcements", partition: 0 };
const log = await createLogger("silent");

const createBatch = (offset: number, timestamp = "2000"): RecordBatch => ({
  partition,
  records: [{ offset, timestamp, key: null, value: null, headers: {} }],
  end: offset + 1,
  isAtEnd: true,
  advance: () => undefined,
  heartbeat: () => Promise.resolve(true),
  isCurrent: () => true,
});

/** A reader at offset 10, and a broker that answers queries for newer records. */
async function createScene(
  t: TestContext,
  stored: { readonly newest?: number } = { newest: 1_000 },
  handler: Partial<BatchHandler<PreparedBatch>> = {},
) {
  const seeks: number[] = [];
  const written: number[] = [];
  const positions: number[] = [];
  const bounds = { low: 0, high: 20 };
  let answers = 0;
  const newer = Promise.withResolvers<number>();
  const reader = createPartitionReader({
    previousClosed: Promise.resolve(),
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
      fetchBounds: () => Promise.resolve(new Map([[0, bounds]])),
      // The first query finds the start.
      findFirstSince: async () => new Map([[0, (answers += 1) === 1 ? 20 : await newer.promise]]),
      fetchTombstoneRetentionMs: () => Promise.resolve(undefined),
    },
    handler: {
      claim: () => Promise.resolve({ offset: 10, epoch: 1, isOurs: false, ...stored }),
      prepare: (records) => ({ records }),
      write: (_, { to }) => {
        written.push(to.epoch);
        positions.push(to.offset);
        return Promise.resolve();
      },
      report: () => undefined,
      ...handler,
    },
    log,
    onFailed: (error) => {
      throw error;
    },
  });
  t.after(() => reader.close());
  await until("the reader reads", () => reader.status().state === "reading");
  /** Resolves when the broker is queried. */
  const deliver = async (): Promise<{ readonly handled: Promise<void> }> => {
    const handled = reader.batch(createBatch(10));
    await until("the broker is asked", () => answers === 2);
    return { handled };
  };
  return { reader, seeks, newer, written, positions, bounds, deliver };
}

describe("the reader of a partition", () => {
  it("writes a batch without newer records before it", async (t) => {
    const { newer, deliver, written, seeks } = await createScene(t);
    const { handled } = await deliver();
    newer.resolve(20);
    await handled;
    assert.deepEqual([written, seeks], [[1], [10]]);
  });

  it("examines records that may be newer before it writes", async (t) => {
    const { newer, deliver, written, seeks } = await createScene(t);
    const { handled } = await deliver();
    newer.resolve(7);
    await handled;
    assert.deepEqual([written, seeks], [[], [10, 7]]);
  });

  it("examines the log again before it applies the first records, unless it has just done so", async (t) => {
    const { reader, newer, seeks, positions } = await createScene(t, { newest: 0 });
    newer.resolve(20);
    reader.skipped({ first: 0, end: 10 });
    // The Kafka topic may be deleted and created again meanwhile.
    await setTimeout(1_100);
    await reader.batch(createBatch(10));
    assert.deepEqual([seeks, positions], [[0, 0], []]);
    reader.skipped({ first: 0, end: 10 });
    await reader.batch(createBatch(10));
    assert.deepEqual([seeks, positions], [[0, 0], [11]]);
  });

  for (const isAtEnd of [true, false])
    it(`takes the next batch ${isAtEnd ? "after" : "during"} the write of one ${isAtEnd ? "at" : "before"} the end of the log`, async (t) => {
      const write = Promise.withResolvers<undefined>();
      const { reader, newer } = await createScene(t, {}, { write: () => write.promise });
      newer.resolve(20);
      let isTaken = false;
      const handled = reader.batch({ ...createBatch(10), isAtEnd }).then(() => (isTaken = true));
      await setImmediate();
      assert.equal(isTaken, !isAtEnd);
      write.resolve(undefined);
      await handled;
    });

  it("writes nothing once it is closed", async (t) => {
    const { reader, newer, deliver, written } = await createScene(t);
    const { handled } = await deliver();
    await reader.close();
    newer.resolve(20);
    await handled;
    assert.deepEqual(written, []);
  });

  it("lets the next owner choose the start once it is closed", async (t) => {
    const { reader, newer, deliver, seeks } = await createScene(t);
    const { handled } = await deliver();
    await reader.close();
    newer.resolve(7);
    await handled;
    assert.deepEqual(seeks, [10]);
  });

  it("checks the log again when it receives records before the position", async (t) => {
    const { reader, seeks, written, bounds } = await createScene(t, {});
    bounds.high = 3;
    await reader.batch(createBatch(0));
    await until("the reader reads from the beginning", () => seeks.length === 2);
    await reader.batch(createBatch(0));
    await reader.close();
    assert.deepEqual([seeks, written], [[10, 0], [2]]);
  });

  it("moves its position over markers after examined records", async (t) => {
    const { reader, newer, deliver, positions } = await createScene(t);
    const { handled } = await deliver();
    newer.resolve(9);
    await handled;
    await reader.batch({ ...createBatch(9, "1000"), end: 12 });
    await until("the position moves", () => positions.length > 0);
    assert.deepEqual(positions, [12]);
  });

  it("moves its position over what compaction removed, but not for a fetch from before a seek", async (t) => {
    const { reader, seeks, positions } = await createScene(t);
    reader.skipped({ first: 12, end: 14 });
    assert.deepEqual([seeks, positions], [[10, 10], []]);
    reader.skipped({ first: 11, end: 13 });
    await until("the position moves", () => positions.length > 0);
    assert.deepEqual([seeks, positions], [[10, 10], [13]]);
  });

  it("writes the records that its handler left over with the next write", async (t) => {
    const sizes: number[] = [];
    const { reader, newer, positions } = await createScene(
      t,
      {},
      {
        prepare(records) {
          const taken = records.slice(0, 2);
          sizes.push(taken.length);
          return { records: taken };
        },
      },
    );
    newer.resolve(20);
    const records = [10, 11, 12].flatMap((offset) => createBatch(offset).records);
    await reader.batch({ ...createBatch(10), records, end: 14 });
    await reader.close();
    assert.deepEqual(
      [sizes, positions],
      [
        [2, 1],
        [12, 14],
      ],
    );
  });

  it("reports once a write that was stored although it failed, and continues if that fails", async (t) => {
    const reported: number[] = [];
    let position = 10;
    const { reader, written } = await createScene(
      t,
      {},
      {
        claim: () => Promise.resolve({ offset: position, epoch: 1, isOurs: true }),
        write: (_, { to }) => {
          written.push(to.offset);
          position = to.offset;
          return written.length === 1 ? Promise.reject(new Error("no answer")) : Promise.resolve();
        },
        report: () => {
          reported.push(position);
          throw new Error("the listener fails");
        },
      },
    );
    await reader.batch(createBatch(10));
    await until("the write failed", () => reader.status().state === "paused");
    await until("the reader reads again", () => reader.status().state === "reading");
    assert.equal(reader.status().offset, 11);
    // Otherwise it may be reported after the next write has moved the position.
    await until("the write is reported", () => reported.length === 1);
    await reader.batch(createBatch(11));
    await reader.close();
    assert.deepEqual(
      [written, reported],
      [
        [11, 12],
        [11, 12],
      ],
    );
  });
});
