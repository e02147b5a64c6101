import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";
import { BSON } from "mongodb";

import { readIndexed } from "../../../src/storage/raw-topics.ts";
import { toIndexed } from "../../../src/storage/topics/records.ts";

const text = fc.oneof(fc.string(), fc.string({ unit: "grapheme", maxLength: 300 }), fc.constant("\u{fffd}"));
const records = fc.record({ topic_id: text, header_query: text, content_query: text, namespace: text });
const serialize = (record: object): Buffer => Buffer.from(BSON.serialize(record));

describe("a topic read from BSON", () => {
  it("is the same as the driver reads", () => {
    fc.assert(
      fc.property(records, (record) => {
        assert.deepEqual(readIndexed(serialize(record)), toIndexed(record));
      }),
    );
  });

  it("may have its fields in another order, and others", () => {
    fc.assert(
      fc.property(records, ({ namespace, content_query, ...others }) => {
        const record = { namespace, sys_updated_on: new Date(0), content_query, ...others };
        assert.deepEqual(readIndexed(serialize(record)), toIndexed({ ...others, namespace, content_query }));
      }),
    );
  });

  it("is rejected where the driver rejects it", () => {
    const bson = serialize({ topic_id: "one", header_query: "a=1", content_query: "", namespace: "sales" });
    const invalid = Buffer.from(bson);
    invalid[bson.indexOf("one")] = 0xff;
    assert.throws(() => readIndexed(invalid), BSON.BSONError);
    for (let length = 0; length < bson.length - 1; length += 1)
      assert.throws(() => readIndexed(bson.subarray(0, length)), BSON.BSONError, String(length));
  });
});
