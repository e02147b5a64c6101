import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { LogRecord } from "@topicsync/kafka";
import { decodeEvent } from "../../../../consumers/events/decode.ts";

const maxBytes = 1_000;

const decodeRecord = (record: Partial<LogRecord>) =>
  decodeEvent({ offset: 5, timestamp: "0", key: null, value: null, headers: [], ...record }, maxBytes);

function getCode(record: Partial<LogRecord>): string {
  const decoded = decodeRecord(record);
  assert.ok("rejection" in decoded);
  return decoded.rejection.code;
}

/** An event of this size. */
const createEvent = (bytes: number): Buffer => Buffer.from('{"eventType":"x"}'.padEnd(bytes));

describe("an event", () => {
  it("is not parsed if it is too large", (t) => {
    assert.ok("event" in decodeRecord({ value: createEvent(maxBytes) }));
    const parse = t.mock.method(JSON, "parse");
    assert.equal(getCode({ value: createEvent(maxBytes + 1) }), "TOO_LARGE");
    const framed = Buffer.concat([Buffer.alloc(5), createEvent(maxBytes)]);
    assert.equal(getCode({ value: framed }), "TOO_LARGE");
    assert.equal(parse.mock.callCount(), 0);
  });

  it("is rejected with its whole batch if that was not read", () => {
    for (const code of ["TOO_LARGE", "UNDECODABLE"] as const) {
      const skippedBatch = { firstOffset: 3, lastOffset: 5, code, reason: "is bad" };
      assert.equal(getCode({ skippedBatch }), code);
    }
  });

  it("has the headers with a value, in their order, for its filters", () => {
    const headers = [
      ["a", "1"],
      ["none", null],
      ["empty", ""],
      ["a", Buffer.from("2")],
      ["a", null],
    ] as const;
    const decoded = decodeRecord({ value: createEvent(maxBytes), headers });
    assert.ok("record" in decoded);
    assert.deepEqual(decoded.record.$header, { a: ["1", "2"], none: [], empty: [""] });
  });

  it("is an object, and has a value", () => {
    assert.equal(getCode({ value: null }), "UNDECODABLE");
    assert.equal(getCode({ value: Buffer.from("{") }), "MALFORMED_JSON");
    assert.equal(getCode({ value: Buffer.from("[]") }), "SCHEMA_VIOLATION");
  });
});
