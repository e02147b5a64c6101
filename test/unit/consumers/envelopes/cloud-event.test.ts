import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  toBase64,
  createBinaryHeaders,
  createCloudEvent,
  decodeRecord,
  createNotification,
  listPaths,
  type NamedHeaders,
  decodeRejection,
  type Given,
} from "../../../support/records.ts";

const body = { externalId: "e", name: "n" };
const definition = { externalId: "e", name: "n", namespace: "", headerQuery: "", contentQuery: "" };
const define = { kind: "define", offset: 5, definition };
const json = { "content-type": Buffer.from("application/cloudevents+json; charset=UTF-8") };

/** [title, record, code, paths, what the message says] */
type Rejected = [title: string, given: Given, code: string, paths: string[], message: RegExp];

function itRejects(cases: readonly Rejected[], form: RegExp): void {
  for (const [title, given, code, paths, message] of cases) {
    it(`rejects ${title}`, () => {
      const rejection = decodeRejection(given);
      assert.equal(rejection.code, code);
      assert.deepEqual(listPaths(rejection), paths);
      assert.match(rejection.message, form);
      assert.match(rejection.message, message);
    });
  }
}

describe("decoding a structured CloudEvent", () => {
  const accepted: [title: string, value: object][] = [
    ["JSON data", createCloudEvent({ data: body })],
    [
      "data in Base64",
      createCloudEvent({ data_base64: toBase64(body), datacontenttype: "application/json" }),
    ],
    ["data in Base64 of no stated type", createCloudEvent({ data_base64: toBase64(body) })],
    [
      "the optional attributes and extensions of the JSON format's examples",
      createCloudEvent({
        time: "2018-04-05T17:31:00Z",
        subject: null,
        comexampleextension1: "value",
        comexampleothervalue: 5,
        unsetextension: null,
        datacontenttype: "application/json",
        dataschema: "https://example.com/topic.json",
        data: body,
      }),
    ],
    ["unset members", createCloudEvent({ time: null, datacontenttype: null, data_base64: null, data: body })],
    ["a type of JSON with parameters", createCloudEvent({ datacontenttype: "Text/JSON; a=b", data: body })],
    [
      "a type that ends in +json",
      createCloudEvent({ datacontenttype: "application/vnd.x+json", data: body }),
    ],
  ];
  for (const [title, value] of accepted) {
    it(`reads ${title}`, () => {
      for (const headers of [{}, json, { ...createBinaryHeaders(), ...json }])
        assert.deepEqual(decodeRecord({ value, headers, key: "e" }), define);
    });
  }

  it("reads a TMF688 notification in its data", () => {
    const topic = createNotification("TopicDeleteEvent", { id: "e" });
    for (const data of [{ data: topic }, { data_base64: toBase64(topic) }])
      assert.deepEqual(decodeRecord({ value: createCloudEvent(data) }), {
        kind: "retire",
        offset: 5,
        externalId: "e",
      });
  });

  it("compares the content type without case", () => {
    const headers = { "content-type": "Application/CloudEvents+JSON" };
    assert.deepEqual(decodeRecord({ value: createCloudEvent({ data: body }), headers }), define);
    assert.deepEqual(listPaths(decodeRejection({ value: body, headers })), [
      "/id",
      "/source",
      "/specversion",
      "/type",
    ]);
  });

  it("is a tombstone without a value, but not without data", () => {
    assert.equal(decodeRecord({ value: null, key: "e", headers: json }).kind, "retire");
  });

  const event = (members: object): Given => ({ value: createCloudEvent(members) });
  const batch = { "content-type": "application/cloudevents-batch+json" };
  const avro = { "content-type": "application/cloudevents+avro" };
  const badType = { "content-type": Buffer.from("application/cloudevents+json\xff", "latin1") };
  itRejects(
    [
      ["an event without data", event({}), "SCHEMA_VIOLATION", ["/data"], /no data/],
      ["data of null", event({ data: null }), "SCHEMA_VIOLATION", ["/data"], /null/],
      [
        "data in both members",
        event({ data: body, data_base64: toBase64(body) }),
        "SCHEMA_VIOLATION",
        ["/data_base64"],
        /combined with data/,
      ],
      [
        "every attribute that is wrong at once",
        event({ id: "", source: 1, specversion: "0.3", type: null, time: 5, data: body }),
        "SCHEMA_VIOLATION",
        ["/id", "/source", "/specversion", "/time", "/type"],
        /"1\.0"/,
      ],
      [
        "data that is not JSON",
        event({ datacontenttype: "application/xml", data: '<much wow="xml"/>' }),
        "UNDECODABLE",
        ["/datacontenttype"],
        /application\/xml/,
      ],
      ["a string as data", event({ data: "I'm just a string" }), "SCHEMA_VIOLATION", ["/data"], /a string/],
      [
        "a fault of the topic",
        event({ data: { externalId: "e", headerquery: "" } }),
        "SCHEMA_VIOLATION",
        ["/data/headerquery", "/data/name"],
        /did you mean headerQuery\?/,
      ],
      [
        "a fault of the topic in Base64",
        event({ data_base64: toBase64({ externalId: "e", "na/me": "" }) }),
        "SCHEMA_VIOLATION",
        ["/data_base64", "/data_base64"],
        /\/data_base64 holds JSON in which \/na~1me is not a known member/,
      ],
      ["bad Base64", event({ data_base64: "e30" }), "SCHEMA_VIOLATION", ["/data_base64"], /Base64/],
      [
        "Base64 of no JSON",
        event({ data_base64: toBase64("{") }),
        "MALFORMED_JSON",
        ["/data_base64"],
        /is not JSON/,
      ],
      [
        "Base64 of no text",
        event({ data_base64: toBase64(Buffer.from([0xff])) }),
        "UNDECODABLE",
        ["/data_base64"],
        /UTF-8/,
      ],
      [
        "another key",
        { ...event({ data: body }), key: "f" },
        "KEY_MISMATCH",
        ["/data/externalId"],
        /"e".*"f"/,
      ],
      [
        "a CloudEvent in a CloudEvent",
        event({ data: createCloudEvent({ data: createCloudEvent({ data: body }) }) }),
        "SCHEMA_VIOLATION",
        ["/data/specversion"],
        /another CloudEvent/,
      ],
      ["a value that is not JSON", { value: "{", headers: json }, "MALFORMED_JSON", [], /is not JSON/],
      ["a value that is not an object", { value: [], headers: json }, "SCHEMA_VIOLATION", [""], /an array/],
      ["a batch", { value: [], headers: batch }, "UNDECODABLE", [""], /batch.*record of its own/],
      ["another format", { value: body, headers: avro }, "UNDECODABLE", [""], /cloudevents\+avro/],
      ["a broken content type", { value: body, headers: badType }, "UNDECODABLE", [""], /content-type/],
    ],
    /^The announcement was read as a CloudEvent \(structured mode\): /,
  );
});

describe("decoding a CloudEvent in binary mode", () => {
  const accepted: [title: string, more: NamedHeaders][] = [
    ["no content type", {}],
    ["a content type of JSON", { "content-type": Buffer.from("application/json; charset=utf-8") }],
    ["texts as headers", { ce_id: "1", "content-type": "application/json" }],
    ["extensions", { ce_comexampleextension1: "value", ce_time: "2018-04-05T03:56:24Z", other: "x" }],
    ["a header that stands more than once: the last counts", { ce_id: ["", Buffer.from("1")] }],
    ["a header named as every object's member", { ce___proto__: "1", ce_constructor: "1" }],
  ];
  for (const [title, more] of accepted) {
    it(`reads ${title}`, () => {
      assert.deepEqual(decodeRecord({ value: body, key: "e", headers: createBinaryHeaders(more) }), define);
    });
  }

  it("reads a TMF688 notification as its data", () => {
    const value = createNotification("TopicCreateEvent", { id: "e", name: "n" });
    assert.deepEqual(decodeRecord({ value, headers: createBinaryHeaders() }), define);
  });

  it("is a tombstone without a value", () => {
    for (const headers of [createBinaryHeaders(), { ce_specversion: "9" }])
      assert.deepEqual(decodeRecord({ value: null, key: "e", headers }), {
        kind: "retire",
        offset: 5,
        externalId: "e",
      });
  });

  it("is not recognized if the version header is missing or has no value", () => {
    for (const specversion of [null, [] as string[]])
      assert.deepEqual(
        decodeRecord({ value: body, headers: { ce_specversion: specversion, ce_id: "" } }),
        define,
      );
  });

  const binary = (more: NamedHeaders, value: Given["value"] = body, key: string | null = null): Given => ({
    value,
    key,
    headers: createBinaryHeaders(more),
  });
  const notUtf8 = Buffer.from([0x61, 0xff]);
  itRejects(
    [
      [
        "every attribute that is missing or wrong at once",
        { value: body, headers: { ce_specversion: "1.1", ce_id: "" } },
        "SCHEMA_VIOLATION",
        ["", "", "", ""],
        /ce_source is required; the header ce_type is required; the header ce_id must not be empty; the header ce_spec/,
      ],
      [
        "data that is not JSON",
        binary({ "content-type": "application/avro" }),
        "UNDECODABLE",
        [""],
        /header content-type .*application\/avro/,
      ],
      ["a header that is not text", binary({ ce_source: notUtf8 }), "UNDECODABLE", [""], /ce_source .*UTF-8/],
      [
        "an extension that is not text",
        binary({ ce_x: ["x", notUtf8] }),
        "UNDECODABLE",
        [""],
        /ce_x .*UTF-8/,
      ],
      ["a value that is not JSON", binary({}, "{"), "MALFORMED_JSON", [], /is not JSON/],
      ["a fault of the topic", binary({}, { name: "n" }), "SCHEMA_VIOLATION", ["/externalId"], /is required/],
      ["another key", binary({}, body, "f"), "KEY_MISMATCH", ["/externalId"], /"e".*"f"/],
      [
        "a CloudEvent as its data",
        binary({}, createCloudEvent({ data: body })),
        "SCHEMA_VIOLATION",
        ["/specversion"],
        /another CloudEvent/,
      ],
    ],
    /^The announcement was read as a CloudEvent \(binary mode\): /,
  );
});
