import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { LogRecord } from "@topicsync/kafka";
import { createBatchLimit, takeBatch } from "../../../consumers/batch.ts";

const [fastMs, slowMs] = [100, 3_000];

describe("the number of records in the next batch", () => {
  it("is halved after a failed or slow write, and grows again", () => {
    const limit = createBatchLimit(1_000);
    limit.handleFailure(fastMs, false);
    assert.equal(limit.get(), 500);
    limit.adjust(slowMs, 500);
    assert.equal(limit.get(), 250);
    limit.adjust(fastMs, 250);
    assert.equal(limit.get(), 282);
  });

  /** Writes batches to a store; returns their numbers of records. */
  function write(getMs: (records: number) => number, writes = 200): number[] {
    const limit = createBatchLimit(2_000);
    return Array.from({ length: writes }, () => {
      const records = limit.get();
      limit.adjust(getMs(records), records);
      return records;
    });
  }

  it("does not become small because the store is far away", () => {
    assert.equal(Math.min(...write(() => 2_500)), 1_000);
    assert.equal(write(() => 2_500).at(-1), 2_000);
  });

  it("becomes so small that a write takes at most two seconds longer than its fixed part", () => {
    for (const fixedMs of [0, 1_000, 2_500]) {
      const getMs = (records: number): number => fixedMs + records * 10;
      const last = write(getMs).slice(-50);
      assert.ok(Math.max(...last.map(getMs)) <= 2_500 + fixedMs, `${Math.max(...last)} records`);
      assert.ok(Math.min(...last) >= 50, `${Math.min(...last)} records`);
    }
  });

  it("is halved once only after one slow write of few records", () => {
    const limit = createBatchLimit(2_000);
    limit.adjust(slowMs, 10);
    for (let i = 0; i < 3; i += 1) limit.adjust(fastMs, 10);
    assert.ok(limit.get() > 1_000);
  });

  it("is halved after a fenced write only if it took long: the broker may have ended its transaction", () => {
    const limit = createBatchLimit(1_000);
    limit.handleFailure(fastMs, true);
    assert.equal(limit.get(), 1_000);
    limit.handleFailure(slowMs, true);
    assert.equal(limit.get(), 500);
  });
});

describe("the records of the next batch", () => {
  const createRecord = (offset: number, bytes = 0): LogRecord => ({
    offset,
    timestamp: "0",
    key: null,
    value: Buffer.alloc(bytes),
    headers: [],
  });
  const take = (records: readonly LogRecord[], maxRecords: number): number[] =>
    takeBatch(records, maxRecords).map(({ offset }) => offset);

  it("are limited in number and bytes, but at least one", () => {
    const megabyte = 1024 * 1024;
    assert.deepEqual(take([createRecord(1), createRecord(2), createRecord(3)], 2), [1, 2]);
    assert.deepEqual(take([createRecord(1, 3 * megabyte), createRecord(2, 2 * megabyte)], 9), [1]);
    assert.deepEqual(take([createRecord(1, 9 * megabyte), createRecord(2)], 9), [1]);
    assert.deepEqual(take([createRecord(1)], 0), [1]);
  });

  it("are limited by the bytes of keys and headers as well", () => {
    const large = Buffer.alloc(3 * 1024 * 1024);
    const manyHeaders = Array.from({ length: 25_000 }, (_, at) => [`h${at}`, "v"] as const);
    for (const parts of [
      { value: large },
      { key: large },
      { headers: [["h", large] as const] },
      { headers: manyHeaders },
    ]) {
      const records = [1, 2, 3].map((offset) => ({ ...createRecord(offset), ...parts }));
      assert.deepEqual(take(records, 9), [1], Object.keys(parts).join(" "));
    }
  });
});
