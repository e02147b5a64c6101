import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createBatchLimit, takeBatch } from "../../../consumers/batch.ts";
import type { LogRecord } from "../../../src/sync/records.ts";

const [fastMs, slowMs] = [100, 3_000];

describe("the number of records in the next batch", () => {
  it("is halved after a failed or slow write, and grows again", () => {
    const limit = createBatchLimit(1_000);
    limit.handleFailure(fastMs, false);
    assert.equal(limit.get(), 500);
    limit.adjust(slowMs);
    assert.equal(limit.get(), 250);
    limit.adjust(fastMs);
    assert.equal(limit.get(), 282);
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
