import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { toHeaders } from "../../../src/kafka/records.ts";

describe("the headers of a record", () => {
  const bytes = Buffer.from("b");

  it("keep every value of every name", () => {
    assert.deepEqual(toHeaders({ one: bytes, two: [bytes, "text"] }), { one: bytes, two: [bytes, "text"] });
    assert.deepEqual(toHeaders(undefined), {});
  });

  it("lose what kafkajs adds to a name that every object inherits", () => {
    const inherited = { constructor: [Object, bytes], toString: [() => "", bytes] };
    assert.deepEqual(toHeaders(inherited), { constructor: bytes, toString: bytes });
    const proto = toHeaders({ ["__proto__"]: [Object.prototype, bytes] });
    assert.deepEqual(Object.entries(proto), [["__proto__", bytes]]);
  });

  it("are empty where they have no value, which kafkajs could not send on", () => {
    const none = Buffer.alloc(0);
    assert.deepEqual(toHeaders({ one: null, two: [null, bytes] }), { one: none, two: [none, bytes] });
  });
});
