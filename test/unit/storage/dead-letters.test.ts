import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FencedError, type Position, type LogRecord } from "@topicsync/kafka";
import { createDeadLetterHandler } from "../../../consumers/dead-letters/handler.ts";
import { addProof } from "../../../src/dead-letters/proof.ts";
import type { DeadLetterFilter, DeadLetterKey } from "../../../src/dead-letters/stores.ts";
import type { Database } from "../../../src/storage/database/database.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../../../src/storage/dead-letters.ts";
import { connectDatabase, connectProxiedDatabase } from "../../support/database.ts";
import { deadLetterMessage, proofKey } from "../../support/dead-letters.ts";
import { dialects } from "../../support/mongo-dialects.ts";
import { unique } from "../../support/names.ts";
import { createRandom } from "../../support/random.ts";

const { db, database, log } = await connectDatabase();
const sent: string[] = [];
const withoutTransactions = await connectProxiedDatabase({
  dialect: dialects["FerretDB 2"],
  onCommand: (command) => void sent.push(Object.keys(command)[0] ?? ""),
});

interface LetterOptions {
  readonly code?: string;
  readonly time?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The record of a dead-letter topic at `offset`, whose original record was at `source`. */
const letter = (
  offset: number,
  source: number,
  { code, time = 0, headers }: LetterOptions = {},
): LogRecord => {
  const message = deadLetterMessage(
    { topic: "source", partition: 0, offset: source },
    { ...(code !== undefined && { code }), ...(headers && { headers }) },
  );
  return {
    offset,
    timestamp: String(time),
    key: null,
    value: Buffer.from(String(source)),
    headers: Object.entries(message.headers),
  };
};

const first: Position = { offset: 0, epoch: 1, topicId: "first" };

/** A dead-letter topic, and readers of its partitions. */
function createScene(at: Database = database) {
  const topic = unique("dead-letter");
  const groupId = unique("group");
  const store = createDeadLetterStore(at, log);
  const letters = createDeadLetterReader(at, topic);
  const positions = db.collection<{ _id: { topic: string; partition: number } }>("topicsync_positions");

  /** A reader of a partition, as it is after a claim. */
  async function open(partition = 0) {
    const handler = createDeadLetterHandler(
      { topic, partition },
      {
        ...{ groupId, store, identify: () => undefined, findNamespace: () => undefined, log },
        getProofKey: () => Promise.resolve(proofKey),
      },
    );
    const claimed = await handler.claim();
    async function write(records: readonly LogRecord[], from: Position | undefined, to: Position) {
      const proven = records.map((record) => ({
        ...record,
        headers: addProof(proofKey, topic, record).headers,
      }));
      await handler.write(handler.prepare(proven, to.epoch), { from, to }, () => undefined);
    }
    return { claimed, write };
  }

  const list = async (filter: Partial<DeadLetterFilter> = {}, after?: DeadLetterKey) => {
    const found = [];
    for await (const batch of letters.stream(
      { namespaces: "all", ...filter },
      { after, batchSize: 2, limit: 1_000 },
    ))
      found.push(...batch);
    return found;
  };
  const listOffsets = async (filter: Partial<DeadLetterFilter> = {}) =>
    (await list(filter)).map(({ id }) => Number(id.slice("source-0-".length)));
  const listCopies = async () => (await list()).map(({ id, copies }) => `${id}: ${copies}`);
  return { topic, groupId, store, letters, positions, open, list, listOffsets, listCopies };
}

const to = (offset: number, rest: Partial<Position> = {}): Position => ({ ...first, offset, ...rest });

it("known dead letters are read in one response, which needs no cursor", async () => {
  const { open, listCopies } = createScene(withoutTransactions.database);
  const { write } = await open();
  const count = 150;
  const letters = Array.from({ length: 2 * count }, (_, offset) => letter(offset, offset % count));
  await write(letters.slice(0, count), undefined, to(count));
  sent.length = 0;
  await write(letters.slice(count), to(count), to(2 * count));
  assert.ok(sent.includes("find") && !sent.includes("getMore"));
  assert.equal((await listCopies()).filter((line) => line.endsWith(": 2")).length, count);
});

for (const [title, at] of [
  ["with transactions", database],
  ["without transactions", withoutTransactions.database],
] as const) {
  describe(`stored dead letters, ${title}`, () => {
    it("are one for each id, with the last copy and the number of copies", async () => {
      const { open, list, listCopies } = createScene(at);
      const { write } = await open();
      await write([letter(0, 7), letter(1, 8), letter(2, 7)], undefined, to(3));
      assert.deepEqual(await listCopies(), ["source-0-7: 2", "source-0-8: 1"]);
      const other = await open(1);
      await other.write([letter(0, 8)], undefined, to(1));
      assert.deepEqual(await listCopies(), ["source-0-8: 2", "source-0-7: 2"]);
      const [newest] = await list();
      assert.deepEqual([newest?.position.partition, newest?.position.offset], [1, 0]);
    });

    it("are the same if records are read again", async () => {
      const { open, list } = createScene(at);
      const { write } = await open();
      const records = [letter(0, 7), letter(1, 7), letter(2, 8)];
      await write(records, undefined, to(3));
      const before = await list();
      assert.equal(before.length, 2);
      const again = await open();
      await again.write(records, to(3), to(4));
      assert.deepEqual(await list(), before);
    });

    it("stay as they are if the position was moved by another reader", async () => {
      const { open, listOffsets } = createScene(at);
      const [one, other] = [await open(), await open()];
      await one.write([letter(0, 1)], undefined, to(1));
      await assert.rejects(other.write([letter(0, 1), letter(1, 2)], undefined, to(2)), FencedError);
      if (at === database) assert.deepEqual(await listOffsets(), [1]);
      const next = await open();
      assert.equal(next.claimed?.offset, 1);
      await next.write([letter(1, 2)], next.claimed, to(2));
      assert.deepEqual(await listOffsets(), [2, 1]);
    });
  });
}

describe("stored dead letters", () => {
  it("keep the order of each partition after a restart, regardless of their times", async () => {
    const { open, listOffsets } = createScene();
    const one = await open();
    await one.write([letter(0, 1, { time: 3_000 })], undefined, to(1));
    const other = await open(1);
    await other.write([letter(0, 2, { time: 2_000 })], undefined, to(1));
    // Rejected now, written long ago.
    const restarted = await open();
    await restarted.write([letter(1, 3, { time: 1_000 })], to(1), to(2));
    assert.deepEqual(await listOffsets(), [3, 1, 2]);
  });

  it("are removed once their topic is another one, whatever partition they are of", async () => {
    const { open, listOffsets } = createScene();
    const [one, other] = [await open(), await open(1)];
    await one.write([letter(0, 1), letter(1, 2)], undefined, to(2));
    await other.write([letter(0, 3)], undefined, to(1));
    const second = { epoch: 2, topicId: "second" };
    await one.write([letter(0, 4)], to(2), to(1, second));
    assert.deepEqual(await listOffsets(), [4]);
    await other.write([letter(0, 5)], to(1), to(1, second));
    assert.deepEqual(await listOffsets(), [5, 4]);
  });

  it("are kept as far as Kafka has them, if it lost the end of their log", async () => {
    const { open, listOffsets } = createScene();
    const { write } = await open();
    await write([letter(0, 1), letter(1, 2), letter(2, 3)], undefined, to(3));
    await write([], to(3), to(2, { epoch: 2 }));
    assert.deepEqual(await listOffsets(), [2, 1]);
    await write([letter(2, 4)], to(2, { epoch: 2 }), to(3, { epoch: 2 }));
    assert.deepEqual(await listOffsets(), [4, 2, 1]);
  });

  it("are kept when a person sets the position", async () => {
    const { open, listOffsets } = createScene();
    const { write } = await open();
    await write([letter(0, 1)], undefined, { offset: 1, epoch: 1 });
    await write([letter(1, 2)], { offset: 1, epoch: 1 }, to(2, { epoch: 2 }));
    assert.deepEqual(await listOffsets(), [2, 1]);
  });

  it("are removed once Kafka has deleted their last copy", async () => {
    const { open, letters, listOffsets } = createScene();
    const [one, other] = [await open(), await open(1)];
    await one.write([letter(0, 1), letter(1, 2), letter(2, 1)], undefined, to(3));
    await other.write([letter(0, 3)], undefined, to(1));
    await letters.removeBefore({ partition: 0, offset: 2, epoch: 1 });
    assert.deepEqual((await listOffsets()).toSorted(), [1, 3]);
    await letters.removeBefore({ partition: 0, offset: 3, epoch: 1 });
    assert.deepEqual(await listOffsets(), [3]);
  });

  it("are removed up to an offset of their log, whatever their times and partition", async () => {
    const { open, letters, listOffsets } = createScene();
    const [one, other] = [await open(), await open(1)];
    await one.write([letter(0, 1, { time: 9 }), letter(1, 2), letter(2, 3, { time: 10 })], undefined, to(3));
    await other.write([letter(0, 4), letter(1, 5)], undefined, to(2));
    await letters.removeBefore({ partition: 0, offset: 1, epoch: 1 });
    assert.deepEqual((await listOffsets()).toSorted(), [2, 3, 4, 5]);
    await letters.removeBefore({ partition: 0, offset: 9, epoch: 1 });
    assert.deepEqual((await listOffsets()).toSorted(), [4, 5]);
    // The topic was created again since its beginning was looked up.
    await other.write([letter(0, 6)], to(2), to(1, { epoch: 2, topicId: "second" }));
    await letters.removeBefore({ partition: 1, offset: 2, epoch: 1 });
    assert.deepEqual(await listOffsets(), [6]);
  });

  it("are found by id, code and time together, page by page, and counted", async () => {
    const { open, letters, list, listOffsets } = createScene();
    const { write } = await open();
    const records = Array.from({ length: 7 }, (_, i) =>
      letter(i, i, { time: (i + 1) * 1_000, code: i % 2 === 0 ? "TOO_LARGE" : "MALFORMED_JSON" }),
    );
    const undated = { ...letter(7, 7), timestamp: "-1" };
    await write([...records, undated], undefined, to(8));
    assert.deepEqual(await listOffsets(), [7, 6, 5, 4, 3, 2, 1, 0]);
    assert.deepEqual(await listOffsets({ codes: ["TOO_LARGE"] }), [6, 4, 2, 0]);
    assert.deepEqual(await listOffsets({ from: new Date(3_000), to: new Date(5_000) }), [4, 3, 2]);
    assert.deepEqual(await listOffsets({ from: new Date(6_000) }), [6, 5]);
    assert.deepEqual(await listOffsets({ to: new Date(1_000) }), [0]);
    const codes = ["MALFORMED_JSON", "OTHER"];
    assert.deepEqual(await listOffsets({ codes, to: new Date(2_000) }), [1]);
    assert.deepEqual(await letters.countByCode("all"), { TOO_LARGE: 4, MALFORMED_JSON: 4 });
    const [, , third] = await list();
    assert.ok(third !== undefined);
    const rest = await list({}, { rank: third.rank, partition: 0, offset: third.position.offset });
    assert.deepEqual(
      rest.map(({ id }) => id.at(-1)),
      ["4", "3", "2", "1", "0"],
    );
    assert.deepEqual(
      (await letters.find(["source-0-5", "nothing-0-1"])).map(({ id }) => id),
      ["source-0-5"],
    );
  });

  it("are what the records are, however these are cut into batches, repeated and read by others", async () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const random = createRandom(seed);
      const logs = [0, 1].map(() => Array.from({ length: random.between(1, 9) }, () => random.between(0, 3)));
      const { open, list } = createScene();
      const readers = [await open(0), await open(1)];
      const offsets = [0, 0];
      for (;;) {
        const partition = random.pickOptional([0, 1].filter((one) => offsets[one] !== logs[one]?.length));
        if (partition === undefined) break;
        if (random.chance(0.3)) readers[partition] = await open(partition);
        const [from = 0, sources = []] = [offsets[partition], logs[partition]];
        const end = Math.min(from + random.between(1, 3), sources.length);
        // Some are read again.
        const begin = random.chance(0.3) ? random.between(0, from) : from;
        const records = sources.slice(begin, end).map((source, at) => letter(begin + at, source));
        const write = () => readers[partition]?.write(records, from === 0 ? undefined : to(from), to(end));
        await write();
        // As after a response that was lost.
        if (random.chance(0.3)) await assert.rejects(async () => write(), FencedError);
        offsets[partition] = end;
      }
      const found = await list();
      assert.deepEqual(
        found.map(({ id, copies }) => `${id}: ${copies}`).toSorted(),
        [...Map.groupBy(logs.flat(), (source) => source)]
          .map(([source, all]) => `source-0-${source}: ${all.length}`)
          .toSorted(),
        `seed ${seed}`,
      );
      for (const { id, position } of found)
        assert.equal(
          logs[position.partition]?.lastIndexOf(Number(id.at(-1))),
          position.offset,
          `seed ${seed}`,
        );
      for (const partition of [0, 1]) {
        const own = found.flatMap(({ position }) =>
          position.partition === partition ? position.offset : [],
        );
        assert.deepEqual(
          own,
          own.toSorted((a, b) => b - a),
          `seed ${seed}`,
        );
      }
    }
  });

  it("are those of one Kafka topic, also if another one has the same ids", async () => {
    const [one, other] = [createScene(), createScene()];
    await (await one.open()).write([letter(0, 1)], undefined, to(1));
    await (await other.open()).write([letter(0, 1), letter(1, 2)], undefined, to(2));
    assert.deepEqual([await one.listOffsets(), await other.listOffsets()], [[1], [2, 1]]);
    await other.letters.removeBefore({ partition: 0, offset: 1, epoch: 1 });
    assert.deepEqual([await one.listOffsets(), await other.listOffsets()], [[1], [2]]);
  });
});
