import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UUID, type Binary } from "mongodb";

import {
  FencedError,
  type BatchStore,
  type Position,
  type PositionStep,
  type PositionStore,
  type PositionKey,
} from "@topicsync/kafka";
import { storeBatch } from "../../../consumers/batch.ts";
import { noTrace } from "../../../consumers/batch-trace.ts";
import type { Database } from "../../../src/storage/database/database.ts";
import { collections } from "../../../src/storage/names.ts";
import type { PositionRecord } from "../../../src/storage/position-records.ts";
import type { SessionOptions } from "../../../src/storage/positions.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";
import { openPositions, type WriteInSession } from "../../support/positions.ts";

interface Written {
  _id: string;
  group: string;
  offset: number;
}

const { db, database: one, connect } = await connectDatabase();
const other = await connect();

const createKey = (): PositionKey => ({ group: unique("group"), topic: "announcements", partition: 0 });
const createPosition = (offset: number): Position => ({ offset, epoch: 1 });
const range = (end: number): number[] => Array.from({ length: end }, (_, n) => n);

/** Writes one record for each offset. The same offset written twice makes two records. */
function createWriter(database: Database, { group }: PositionKey) {
  const records = database.collection<Written>(collections.retiredTopics);
  return async (offset: number, options: SessionOptions): Promise<void> => {
    await records.insertOne({ _id: unique("record"), group, offset }, options);
  };
}

/** Asks the store so often that another batch or claim of the partition would begin if it did not wait. */
async function askOften(): Promise<void> {
  for (let times = 0; times < 20; times += 1) await db.command({ ping: 1 });
}

/** Stores a batch as the consumers do. */
async function apply(
  positions: BatchStore<WriteInSession>,
  step: PositionStep,
  write?: WriteInSession,
): Promise<void> {
  await storeBatch(positions, step, { writes: write, sendDeadLetters: undefined, trace: noTrace });
}

/** Reads the written offsets and the position. */
async function readOutcome({ group }: PositionKey): Promise<{ offsets: number[]; position: number }> {
  const records = await db.collection<Written>(collections.retiredTopics).find({ group }).toArray();
  const stored = await db.collection(collections.positions).findOne({ "_id.group": group });
  return {
    offsets: records.map(({ offset }) => offset).toSorted((a, b) => a - b),
    position: Number(stored?.["next_offset"] ?? 0),
  };
}

describe("the records of a batch and the position after it", () => {
  it("are stored together or not at all while another batch of the partition begins", async () => {
    const key = createKey();
    const positions = openPositions(one);
    await positions.claim(key);
    const write = createWriter(one, key);
    const batch = { key, from: undefined };
    const [first, second] = await Promise.allSettled([
      apply(positions, { ...batch, to: createPosition(2) }, async (options) => {
        await write(0, options);
        await askOften();
        await write(1, options);
      }),
      apply(positions, { ...batch, to: createPosition(1) }, (options) => write(0, options)),
    ]);
    assert.equal(first.status, "fulfilled");
    assert.ok(second.status === "rejected" && second.reason instanceof FencedError);
    assert.deepEqual(await readOutcome(key), { offsets: [0, 1], position: 2 });
  });

  it("are stored together while the same process claims the partition again", async () => {
    const key = createKey();
    const positions = openPositions(one);
    await positions.claim(key);
    const write = createWriter(one, key);
    const batch = { key, from: undefined };
    const [, claimed] = await Promise.all([
      apply(positions, { ...batch, to: createPosition(2) }, async (options) => {
        await write(0, options);
        await askOften();
        await write(1, options);
      }),
      positions.claim(key),
    ]);
    assert.equal(claimed?.offset, 2);
    assert.deepEqual(await readOutcome(key), { offsets: [0, 1], position: 2 });
  });

  it("are stored once if the readers of two processes overlap", async () => {
    const key = createKey();
    const end = 100;
    /**
     * Claims the partition, applies some batches, and repeats, sometimes without waiting for the last batch.
     */
    async function read(database: Database, positions: BatchStore<WriteInSession>, reader: number) {
      const write = createWriter(database, key);
      const applyTo = (from: Position | undefined, to: number): Promise<boolean> =>
        apply(positions, { key, from, to: createPosition(to) }, async (options) => {
          for (let offset = from?.offset ?? 0; offset < to; offset += 1) await write(offset, options);
        }).then(
          () => true,
          () => false,
        );
      const left: Promise<boolean>[] = [];
      for (let turn = reader; ; turn += 1) {
        assert.ok(turn < 1_000, "there is no progress");
        const claimed = await positions.claim(key).then(
          (position) => ({ position }),
          () => undefined,
        );
        if (claimed === undefined) continue;
        let from: Position | undefined = claimed.position;
        for (let batch = 0; batch < 3; batch += 1) {
          const begin: number = from?.offset ?? 0;
          if (begin === end) return Promise.all(left);
          const to = Math.min(end, begin + 1 + ((turn + 3 * batch) % 5));
          const writing = applyTo(from, to);
          left.push(writing);
          if ((turn + batch) % 3 === 0 || !(await writing)) break;
          from = createPosition(to);
        }
      }
    }
    await Promise.all(
      [one, other].flatMap((database, process) => {
        const positions = openPositions(database);
        return range(2).map((reader) => read(database, positions, 10 * process + reader));
      }),
    );
    assert.deepEqual(await readOutcome(key), { offsets: range(end), position: end });
  });

  it("are not blocked by a transaction that a former owner left open after it lost the partition", async () => {
    const key = createKey();
    const former = openPositions(one);
    const owner = openPositions(other);
    await former.claim(key);
    await owner.claim(key);
    const batch = { key, from: undefined, to: createPosition(1) };
    const record = { _id: unique("record"), group: key.group, offset: 0 };
    const insert = async (database: Database, options: SessionOptions): Promise<void> => {
      await database.collection<Written>(collections.retiredTopics).insertOne({ ...record }, options);
    };
    const open = Promise.withResolvers<undefined>();
    const killed = Promise.withResolvers<undefined>();
    const left = apply(former, batch, async (options) => {
      await insert(one, options);
      open.resolve(undefined);
      await killed.promise;
      throw new Error("killed");
    });
    await open.promise;
    const applyByOwner = () => apply(owner, batch, (options) => insert(other, options));
    await assert.rejects(applyByOwner(), { name: "UnavailableError" });
    await owner.claim(key);
    await applyByOwner();
    killed.resolve(undefined);
    await assert.rejects(left, { message: "killed" });
    assert.deepEqual(await readOutcome(key), { offsets: [0], position: 1 });
  });

  it("are fenced by the epoch as well as by the offset", async () => {
    const key = createKey();
    const positions = openPositions(one);
    await positions.claim(key);
    const move = (from: Position | undefined, to: Position) => apply(positions, { key, from, to });
    await move(undefined, { offset: 3, epoch: 1 });
    await move({ offset: 3, epoch: 1 }, { offset: 3, epoch: 2 });
    await assert.rejects(move({ offset: 3, epoch: 1 }, { offset: 5, epoch: 1 }), { name: "FencedError" });
    await move({ offset: 3, epoch: 2 }, { offset: 5, epoch: 2 });
    const claimBy = async (positions: Pick<PositionStore, "claim">) => {
      const { offset, epoch, isOurs, movedOn } = (await positions.claim(key)) ?? {};
      return { offset, epoch, isOurs, isDated: movedOn instanceof Date };
    };
    const moved = { offset: 5, epoch: 2, isDated: true };
    assert.deepEqual(await claimBy(positions), { ...moved, isOurs: true });
    assert.deepEqual(await claimBy(openPositions(other)), { ...moved, isOurs: false });

    // A person who sets the position during a write leaves the mark of the write before.
    await db
      .collection<PositionRecord>(collections.positions)
      .updateOne(
        { _id: { group: key.group, topic: key.topic, partition: key.partition } },
        { $set: { next_offset: 8 } },
      );
    await assert.rejects(move({ offset: 5, epoch: 2 }, { offset: 8, epoch: 2 }), { name: "FencedError" });
    assert.deepEqual(await claimBy(positions), { ...moved, offset: 8, isOurs: false });
  });

  it("keep only the sessions of the last owners", async () => {
    const key = createKey();
    const sessions = range(12).map(() => new UUID().toBinary());
    const positions = db.collection<PositionRecord>(collections.positions);
    const { group, topic, partition } = key;
    await positions.insertOne({ _id: { group, topic, partition }, sessions });
    await openPositions(one).claim(key);
    await openPositions(one).claim(key);
    const kept = (await positions.findOne({ "_id.group": group }))?.sessions ?? [];
    const name = (id: Binary) => id.toString("hex");
    const before = sessions.map(name);
    assert.deepEqual(
      kept.map(name).filter((id) => before.includes(id)),
      before.slice(-7),
    );
    assert.equal(kept.length, 9);
  });
});

describe("a position that a person sets", () => {
  const to: Position = { offset: 3, epoch: 2, topicId: "id", clusterId: "cluster" };

  it("is stored if nobody has moved it, and fences the owner", async () => {
    const key = createKey();
    const positions = openPositions(one);
    await positions.claim(key);
    await apply(positions, { key, from: undefined, to: createPosition(5) });
    assert.equal(await positions.setPosition(key, createPosition(4), to), false);
    assert.equal(await positions.setPosition(key, undefined, to), false);
    assert.equal(await openPositions(other).setPosition(key, createPosition(5), to), true);
    await assert.rejects(
      apply(positions, { key, from: createPosition(5), to: createPosition(6) }),
      FencedError,
    );
    assert.deepEqual(await positions.findPosition(key), to);
    const claimed = await positions.claim(key);
    assert.deepEqual([claimed?.isOurs, claimed?.offset, claimed?.epoch], [false, 3, 2]);
  });

  it("is stored where there was none, once, and forgets the former log", async () => {
    const key = createKey();
    const positions = openPositions(one);
    const results = await Promise.all(
      [positions, openPositions(other)].map((store) => store.setPosition(key, undefined, to)),
    );
    assert.deepEqual(results.toSorted(), [false, true]);
    assert.equal(await positions.setPosition(key, to, { offset: 7, epoch: 3 }), true);
    assert.deepEqual(await positions.findPosition(key), { offset: 7, epoch: 3 });
    assert.equal(await positions.findPosition({ ...key, partition: 1 }), undefined);
    // One that was only claimed.
    const claimed = { ...key, partition: 2 };
    await positions.claim(claimed);
    assert.equal(await positions.setPosition(claimed, undefined, createPosition(1)), true);
    await apply(positions, { key: claimed, from: createPosition(1), to: createPosition(2) });
  });
});
