import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  createCloudEvent,
  decodeRecord,
  addFrame,
  listPaths,
  decodeRejection,
} from "../../../support/records.ts";

const body = { externalId: "e", name: "n" };
const definition = { externalId: "e", name: "n", namespace: "", headerQuery: "", contentQuery: "" };

describe("decoding a Confluent-framed record", () => {
  it("reads the JSON after the frame", () => {
    const value = addFrame(body, 0xfffffffe);
    for (const key of [null, "e", addFrame('"e"')])
      assert.deepEqual(decodeRecord({ value, key }), { kind: "define", offset: 5, definition });
  });

  it("reads a framed key with an unframed value, also for a tombstone", () => {
    const key = addFrame('"e"', 4);
    assert.deepEqual(decodeRecord({ value: body, key }), { kind: "define", offset: 5, definition });
    assert.deepEqual(decodeRecord({ value: null, key }), { kind: "retire", offset: 5, externalId: "e" });
    assert.equal(decodeRejection({ value: body, key: addFrame('"f"') }).code, "KEY_MISMATCH");
  });

  const unreadable: [title: string, rest: string | Buffer][] = [
    ["Avro", Buffer.from([0x02, 0x65, 0x02, 0x6e])],
    ["Protobuf with its message indexes", Buffer.from([0x00, 0x0a, 0x01, 0x65])],
    ["bytes that are not UTF-8", Buffer.from([0xff])],
    ["nothing", ""],
    ["a second frame", addFrame(body)],
  ];
  for (const [title, rest] of unreadable) {
    it(`rejects ${title} after the frame and names the schema`, () => {
      for (const given of [
        { value: addFrame(rest, 100_007) },
        { value: body, key: addFrame(rest, 100_007) },
        { value: null, key: addFrame(rest, 100_007) },
      ]) {
        const { code, message } = decodeRejection(given);
        assert.equal(code, "UNDECODABLE");
        assert.match(message, /100007/);
        assert.match(message, /only JSON is supported/);
      }
    });
  }

  it("rejects a key whose JSON is not a valid external id", () => {
    for (const key of ["1", "null", '{"id":"e"}', String.raw`"\ud800"`])
      assert.equal(decodeRejection({ value: null, key: addFrame(key) }).code, "UNDECODABLE", key);
  });

  it("rejects a truncated frame", () => {
    for (const length of [1, 2, 3, 4]) {
      const { code, message } = decodeRejection({ value: Buffer.alloc(length) });
      assert.equal(code, "UNDECODABLE");
      assert.match(message, new RegExp(`${length} of 5 bytes`));
      assert.equal(decodeRejection({ value: null, key: Buffer.alloc(length) }).code, "UNDECODABLE");
    }
  });

  it("mentions the frame if its content is rejected", () => {
    const plain = decodeRejection({ value: addFrame({ name: "n" }, 0xfffffffe) });
    assert.equal(plain.code, "SCHEMA_VIOLATION");
    assert.match(
      plain.message,
      /^The announcement was read as a Confluent-framed value \(schema id 4294967294\): /,
    );
    assert.deepEqual(listPaths(plain), ["/externalId"]);
    const event = decodeRejection({ value: addFrame(createCloudEvent({ data: { name: "n" } }), 12) });
    assert.match(
      event.message,
      /read as a CloudEvent \(structured mode\) in a Confluent-framed value \(schema id 12\): /,
    );
    assert.deepEqual(listPaths(event), ["/data/externalId"]);
  });
});
