import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import type { TopicDefinition } from "../../../../src/topics/topic.ts";
import {
  toBase64,
  createBinaryHeaders,
  toBytes,
  createCloudEvent,
  decodeRecord,
  addFrame,
  createNotification,
  decodeRejection,
  type NamedHeaders,
  type Given,
} from "../../../support/records.ts";

const someTopic = { externalId: "e", name: "n", namespace: "", headerQuery: "", contentQuery: "" };

type Wrap = (definition: TopicDefinition) => Given;
const toNotification = (topic: TopicDefinition): object =>
  createNotification("TopicCreateEvent", { ...topic, id: "not this", "@type": "Topic" });

/** Every envelope, and every allowed combination of two. */
const envelopes: Record<string, Wrap> = {
  "no envelope": (topic) => ({ value: topic }),
  "a structured CloudEvent": (topic) => ({ value: createCloudEvent({ data: topic }) }),
  "a structured CloudEvent with Base64": (topic) => ({
    value: createCloudEvent({ data_base64: toBase64(topic) }),
  }),
  "a CloudEvent in binary mode": (topic) => ({ value: topic, headers: createBinaryHeaders() }),
  "a TMF688 notification": (topic) => ({ value: toNotification(topic) }),
  "a notification in a structured CloudEvent": (topic) => ({
    value: createCloudEvent({ data: toNotification(topic) }),
  }),
  "a notification in a structured CloudEvent with Base64": (topic) => ({
    value: createCloudEvent({ data_base64: toBase64(toNotification(topic)) }),
  }),
  "a notification in a CloudEvent in binary mode": (topic) => ({
    value: toNotification(topic),
    headers: createBinaryHeaders(),
  }),
};

const text = (minLength: number) =>
  fc.string({ unit: "grapheme", minLength, maxLength: 12 }).filter((one) => !one.includes("\0"));
const filter = text(0).map((value) => (value.trim() === "" ? value : `name.eq=${encodeURIComponent(value)}`));
const definitions = fc.record(
  { externalId: text(1), name: text(1), namespace: text(0), headerQuery: filter, contentQuery: filter },
  { noNullPrototype: true },
);

describe("an envelope", () => {
  for (const [title, wrap] of Object.entries(envelopes)) {
    it(`does not change the definition in it: ${title}, framed or not`, () => {
      fc.assert(
        fc.property(definitions, fc.nat(0xffffffff), (definition, schemaId) => {
          const given = wrap(definition);
          assert.ok(given.value !== null);
          const expected = { kind: "define", offset: 5, definition };
          assert.deepEqual(decodeRecord({ ...given, key: definition.externalId }), expected);
          const value = addFrame(given.value, schemaId);
          const key = addFrame(JSON.stringify(definition.externalId), schemaId);
          assert.deepEqual(decodeRecord({ ...given, value, key }), expected);
        }),
        { numRuns: 200 },
      );
    });

    it(`counts towards the limit of 100 kB: ${title}`, () => {
      const { value, headers = {} } = wrap(someTopic);
      assert.ok(value !== null);
      const bytes = toBytes(value);
      const padded = (size: number) => Buffer.concat([bytes, Buffer.alloc(size - bytes.length, " ")]);
      assert.equal(decodeRecord({ value: padded(102_400), headers }).kind, "define");
      assert.equal(decodeRejection({ value: padded(102_401), headers }).code, "TOO_LARGE");
      assert.equal(decodeRejection({ value: addFrame(padded(102_400)), headers }).code, "TOO_LARGE");
    });
  }
});

describe("a hostile record", () => {
  const body = { externalId: "e", name: "n" };
  const nested = (depth: number): object =>
    Array.from({ length: depth }).reduce<object>((inner) => createCloudEvent({ data: inner }), body);
  const open = '{"specversion":"1.0","id":"1","source":"/s","type":"t","data":';

  const hostile: [title: string, given: Given, code: string][] = [
    ["JSON of 100,000 levels that never ends", { value: "[".repeat(102_400) }, "MALFORMED_JSON"],
    ["JSON of 101 levels", { value: "[".repeat(101) + "]".repeat(101) }, "MALFORMED_JSON"],
    ["JSON of 100 levels", { value: "[".repeat(100) + "]".repeat(100) }, "SCHEMA_VIOLATION"],
    [
      "data of 50,000 levels",
      { value: `${open}${"[".repeat(50_000)}${"]".repeat(50_000)}}` },
      "MALFORMED_JSON",
    ],
    ["data of 99 levels", { value: `${open}${"[".repeat(99)}${"]".repeat(99)}}` }, "SCHEMA_VIOLATION"],
    ["CloudEvents in CloudEvents", { value: nested(90) }, "SCHEMA_VIOLATION"],
    [
      "Base64 as large as can be",
      { value: createCloudEvent({ data_base64: "A".repeat(102_000) }) },
      "MALFORMED_JSON",
    ],
    [
      "Base64 as large as can be, but for its end",
      { value: createCloudEvent({ data_base64: `${"A".repeat(102_000)}*` }) },
      "SCHEMA_VIOLATION",
    ],
    [
      "a media type without an end",
      { value: createCloudEvent({ datacontenttype: `a/${"+".repeat(100_000)}`, data: body }) },
      "UNDECODABLE",
    ],
    ["NUL in a text", { value: createCloudEvent({ data: { ...body, name: "a\0b" } }) }, "SCHEMA_VIOLATION"],
    ["NUL in an attribute", { value: createCloudEvent({ id: "a\0b", data: body }) }, "SCHEMA_VIOLATION"],
    [
      "a lone surrogate",
      { value: createCloudEvent({ data: { ...body, name: "\ud800" } }) },
      "SCHEMA_VIOLATION",
    ],
    [
      "a version behind __proto__",
      { value: '{"__proto__":{"specversion":"1.0","eventType":"","event":{}}}' },
      "SCHEMA_VIOLATION",
    ],
  ];
  for (const [title, given, code] of hostile) {
    it(`is rejected: ${title}`, () => {
      assert.equal(decodeRejection(given).code, code);
    });
  }

  it("is rejected with a duplicate member, at any depth and in any envelope", () => {
    const definition = '{"name":"n","externalId":"e","nam\\u0065":"m"}';
    for (const value of [
      definition,
      `${open}${definition}}`,
      `${open}{},"data":${JSON.stringify(body)}}`,
      JSON.stringify(createCloudEvent({ data_base64: Buffer.from(definition).toString("base64") })),
      addFrame(Buffer.from(definition)),
    ]) {
      const { code, message, details } = decodeRejection({ value });
      assert.equal(code, "MALFORMED_JSON");
      assert.match(JSON.stringify([message, details]), /duplicate member/);
    }
  });

  it("may begin with a byte order mark", () => {
    assert.equal(decodeRecord({ value: `\uFEFF${JSON.stringify(body)}` }).kind, "define");
  });

  it("never makes decoding throw", () => {
    const wraps = Object.values(envelopes);
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
      fc.json().map((json) => Buffer.from(json)),
      fc.constantFrom(...wraps).map((wrap) => toBytes(wrap(someTopic).value ?? "")),
      fc
        .record({ specversion: fc.jsonValue(), eventType: fc.jsonValue(), event: fc.jsonValue() })
        .map(toBytes),
    );
    const value = fc.option(
      fc.oneof(
        bytes,
        bytes.map((one) => addFrame(one)),
      ),
    );
    const header = fc.oneof(
      fc.string(),
      fc.uint8Array().map((array) => Buffer.from(array)),
      fc.array(fc.string()),
    );
    const names = fc.constantFrom(
      "content-type",
      "ce_id",
      "ce_specversion",
      "ce_type",
      "ce_source",
      "ce___proto__",
    );
    const types = fc.constantFrom("application/cloudevents", "application/json", "1.0");
    const headers: fc.Arbitrary<NamedHeaders> = fc.dictionary(names, fc.oneof(header, types));
    fc.assert(
      fc.property(value, value, headers, (record, key, given) => {
        assert.equal(decodeRecord({ value: record, key, headers: given }).offset, 5);
      }),
      { numRuns: 5_000 },
    );
  });
});
