import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { loadPrivate } from "../../../../src/kafka/workarounds/patch.ts";
import {
  encodeRecord,
  encodeRecordsAtOnce,
  type EncodableRecord,
} from "../../../../src/kafka/workarounds/record-encoder.ts";

type Encode = (record: EncodableRecord) => { readonly buffer: Buffer };

const loadEncode = (): Encode => loadPrivate("protocol/recordBatch/record/v0") as Encode;

const buffer = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const text = fc.string({ unit: "binary", maxLength: 80 });
const field = fc.oneof(buffer, text, fc.constant(null));
const header = fc.oneof(buffer, text);

describe("encodeRecord", () => {
  it("encodes as kafkajs", () => {
    const encode = loadEncode();
    fc.assert(
      fc.property(
        fc.record({
          offsetDelta: fc.integer({ min: 0, max: 1_000_000 }),
          timestampDelta: fc.integer({ min: -(2 ** 45), max: 2 ** 45 }),
          key: field,
          value: field,
          headers: fc.dictionary(text, fc.oneof(header, fc.array(header, { maxLength: 3 })), { maxKeys: 4 }),
        }),
        (record) => {
          assert.equal(encodeRecord(record).toString("hex"), encode(record).buffer.toString("hex"));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("replaces the encoder of kafkajs, which creates a buffer for every field", () => {
    const record = { value: Buffer.from("value") };
    const encode = loadEncode();
    assert.equal(encode(record).constructor.name, "Encoder", "kafkajs no longer needs encodeRecordsAtOnce");
    encodeRecordsAtOnce();
    const replaced = loadEncode();
    assert.notEqual(replaced, encode);
    assert.deepEqual(replaced(record).buffer, encode(record).buffer);
  });
});
