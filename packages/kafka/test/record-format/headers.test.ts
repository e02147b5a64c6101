import assert from "node:assert/strict";
import { it } from "node:test";

import { decodeBatches } from "../../record-format/batch-reader.ts";
import { measureBatch, writeBatch } from "../../record-format/batch-writer.ts";
import { toHeaderList, toIHeaders } from "../../record-format/headers.ts";

it("headers keep their order, names that repeat, and whether they have a value", async () => {
  const headers = [
    ["b", "1"],
    ["10", "2"],
    ["a", null],
    ["b", ""],
  ] as const;
  const batch = measureBatch([{ value: "v", headers: toIHeaders(headers) }]);
  const bytes = Buffer.alloc(batch.bytes);
  const producer = { id: -1n, epoch: -1, isTransactional: false };
  writeBatch(bytes, batch, { producer, firstSequence: -1 });
  const [message] = await decodeBatches(bytes, 1_000_000);
  assert.deepEqual(
    message?.headers.map(([name, text]) => [name, text === null ? null : String(text)]),
    headers,
  );
});

it("headers of other programs that use kafkajs are read, too", () => {
  assert.deepEqual(toHeaderList({ a: "1", b: ["2", "3"], c: undefined }), [
    ["a", "1"],
    ["b", "2"],
    ["b", "3"],
    ["c", null],
  ]);
  assert.deepEqual(toHeaderList(undefined), []);
});
