import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { decode } from "../../../../consumers/announcements/decode.ts";
import type { Announcement } from "../../../../src/topics/announcement.ts";

const decodeOne = (value: string | Buffer | null, key: string | Buffer | null = null): Announcement =>
  decode({
    offset: 5,
    timestamp: "0",
    headers: [],
    key: typeof key === "string" ? Buffer.from(key) : key,
    value: typeof value === "string" ? Buffer.from(value) : value,
  });
const getCode = (announcement: Announcement): string =>
  announcement.kind === "unusable" ? announcement.rejection.code : announcement.kind;

describe("decoding a record", () => {
  it("reads a definition into its canonical form", () => {
    const expected = { externalId: "e", name: "n", namespace: "", headerQuery: "", contentQuery: "" };
    for (const value of [
      '{"externalId":"e","name":"n"}',
      '{"externalId":"e","name":"n","namespace":null,"headerQuery":"","contentQuery":null}',
    ]) {
      assert.deepEqual(decodeOne(value, "e"), { kind: "define", offset: 5, definition: expected });
      assert.deepEqual(decodeOne(value), { kind: "define", offset: 5, definition: expected });
    }
  });

  it("reads a record without a value as the retirement of its key", () => {
    assert.deepEqual(decodeOne(null, "e"), { kind: "retire", offset: 5, externalId: "e" });
  });

  it("rejects unusable records with the reason", () => {
    assert.equal(getCode(decodeOne(null)), "MISSING_KEY");
    assert.equal(getCode(decodeOne("")), "MALFORMED_JSON");
    assert.equal(getCode(decodeOne("{")), "MALFORMED_JSON");
    assert.equal(getCode(decodeOne("null")), "SCHEMA_VIOLATION");
    assert.equal(getCode(decodeOne('{"externalId":"e"}')), "SCHEMA_VIOLATION");
    assert.equal(getCode(decodeOne(Buffer.from([0xff, 0xfe]))), "UNDECODABLE");
    assert.equal(getCode(decodeOne(null, Buffer.from([0xff]))), "UNDECODABLE");
    assert.equal(getCode(decodeOne('{"externalId":"e","name":"n"}', "f")), "KEY_MISMATCH");
    assert.equal(getCode(decodeOne('{"externalId":"e","name":"n"}', "")), "KEY_MISMATCH");
    assert.equal(getCode(decodeOne(`{"externalId":"e","name":"${"n".repeat(102_400)}"}`)), "TOO_LARGE");
  });

  it("rejects names, external ids and namespaces of more than 1,000 characters, each with its path", () => {
    const [longest, longer] = ["\u{1F600}".repeat(1_000), "x".repeat(1_001)];
    const value = (text: string) => JSON.stringify({ externalId: text, name: text, namespace: text });
    assert.equal(getCode(decodeOne(value(longest), longest)), "define");
    const announcement = decodeOne(value(longer), longer);
    assert.ok(announcement.kind === "unusable");
    assert.equal(announcement.rejection.code, "SCHEMA_VIOLATION");
    assert.deepEqual(
      announcement.rejection.details.map(({ path, message }) => `${path} ${message}`).toSorted(),
      ["/externalId", "/name", "/namespace"].map((path) => `${path} must have at most 1000 characters`),
    );
    // A topic that was stored before the limit.
    assert.equal(getCode(decodeOne(null, longer)), "retire");
  });

  it("rejects invalid filters, each with its path and position", () => {
    const topic = { externalId: "e", name: "n", headerQuery: "a=1&", contentQuery: "b" };
    const event = { specversion: "1.0", id: "1", source: "/s", type: "t", data: topic };
    for (const [value, at] of [
      [topic, ""],
      [event, "/data"],
    ] as const) {
      const announcement = decodeOne(JSON.stringify(value), "e");
      assert.ok(announcement.kind === "unusable");
      assert.equal(announcement.rejection.code, "BAD_FILTER");
      const [header, content] = announcement.rejection.details;
      assert.equal(header?.path, `${at}/headerQuery`);
      assert.match(header.message, /no condition here.*at character 5$/);
      assert.equal(content?.path, `${at}/contentQuery`);
      assert.match(content.message, /no operator after "b".*at character 2$/);
    }
  });

  it("names the path of every fault", () => {
    const announcement = decodeOne('{"externalId":"","headerquery":1}');
    assert.ok(announcement.kind === "unusable");
    const paths = announcement.rejection.details.map(({ path }) => path).toSorted();
    assert.deepEqual(paths, ["/externalId", "/headerquery", "/name"]);
  });

  it("rejects a skipped batch and does not treat it as a tombstone", () => {
    const skippedBatch = {
      firstOffset: 3,
      lastOffset: 5,
      code: "UNDECODABLE",
      reason: "cannot be decoded",
    } as const;
    const announcement = decode({
      offset: 5,
      timestamp: "0",
      headers: [],
      key: null,
      value: null,
      skippedBatch,
    });
    assert.equal(getCode(announcement), "UNDECODABLE");
    assert.equal(announcement.offset, 5);
  });

  it("never throws on arbitrary bytes", () => {
    const bytes = fc.option(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
    );
    fc.assert(
      fc.property(bytes, bytes, (value, key) => {
        const announcement = decodeOne(value && Buffer.from(value), key && Buffer.from(key));
        assert.equal(announcement.offset, 5);
      }),
      { numRuns: 2_000 },
    );
  });
});
