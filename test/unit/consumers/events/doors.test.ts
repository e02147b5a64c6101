import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RejectionError } from "@topicsync/lib/errors";
import type { LogRecord } from "@topicsync/kafka";
import { decodeEvent, decodeEventText } from "../../../../consumers/events/decode.ts";
import { readRecord } from "../../../../src/service/impact/read-events.ts";

const createRecord = (value: Buffer): LogRecord => ({
  ...{ offset: 5, timestamp: "0", key: null, value, headers: [] },
});

const fromRecord = (value: Buffer): unknown => {
  const decoded = decodeEvent(createRecord(value), 1_000_000);
  return "rejection" in decoded ? decoded.rejection.code : decoded.event;
};

const fromThrown = (decode: () => unknown): unknown => {
  try {
    return decode();
  } catch (error) {
    assert.ok(error instanceof RejectionError);
    return error.code;
  }
};

const wrap = (data: object): Buffer =>
  Buffer.from(JSON.stringify({ specversion: "1.0", id: "1", source: "/", type: "t", ...data }));

/** Every way in which a text becomes an event, or the code of its rejection. */
const doors: Readonly<Record<string, (text: string) => unknown>> = {
  router: (text) => fromRecord(Buffer.from(text)),
  "router, framed"(text) {
    const read = fromRecord(Buffer.concat([Buffer.alloc(5), Buffer.from(text)]));
    // After a frame, what is not JSON may be Avro.
    return read === "UNDECODABLE" ? "MALFORMED_JSON" : read;
  },
  "router, data_base64": (text) => fromRecord(wrap({ data_base64: Buffer.from(text).toString("base64") })),
  pick: (text) => fromThrown(() => decodeEventText(text).event),
  preview: (text) => {
    const options = { topic: "events", maxEventBytes: 1_000_000, proofKey: undefined };
    const read = readRecord(createRecord(Buffer.from(text)), 0, options);
    return "code" in read ? read.code : read.event;
  },
};

const event = { eventId: "1", eventType: "A", event: { a: 1 } };
const mark = "\uFEFF";

/** A text, and what it is at every door. */
const table: readonly (readonly [text: string, expected: unknown])[] = [
  [JSON.stringify(event), event],
  [mark + JSON.stringify(event), event],
  [mark + mark + JSON.stringify(event), "MALFORMED_JSON"],
  [` \n${JSON.stringify(event)}\n`, event],
  ['{"eventType":"A","eventType":"B"}', { eventType: "B" }],
  [
    '{"eventId":null,"@type":null,"eventType":null,"event":{}}',
    { eventId: null, "@type": null, eventType: null, event: {} },
  ],
  ['{"@type":"A","event":null}', { "@type": "A", event: null }],
  ['{"eventType":""}', { eventType: "" }],
  ["{}", "SCHEMA_VIOLATION"],
  ['{"eventType":null}', "SCHEMA_VIOLATION"],
  ['{"EventType":"A","eventId":"1"}', "SCHEMA_VIOLATION"],
  ['{"eventType":1}', "SCHEMA_VIOLATION"],
  ['{"event":12345678901234567890}', "SCHEMA_VIOLATION"],
  ["[]", "SCHEMA_VIOLATION"],
  ["null", "SCHEMA_VIOLATION"],
  ["{", "MALFORMED_JSON"],
];

describe("a text", () => {
  for (const [text, expected] of table)
    it(`${JSON.stringify(text)} is the same at every door`, () => {
      for (const [door, decode] of Object.entries(doors)) assert.deepEqual(decode(text), expected, door);
    });

  it("that is a CloudEvent is opened at every door, with its attributes", () => {
    const text = String(wrap({ data: event }));
    for (const door of ["router", "pick", "preview"]) assert.deepEqual(doors[door]?.(text), event, door);
    assert.equal(decodeEventText(text).record.$ce?.["type"], "t");
  });
});

describe("what is not an event", () => {
  const describeRejection = (text: string): string => {
    const decoded = decodeEvent(createRecord(Buffer.from(text)), 1_000_000);
    assert.ok("rejection" in decoded, text);
    return decoded.rejection.message;
  };

  it("is rejected with the members that an event has", () => {
    assert.match(describeRejection("{}"), /must have one of the members eventType, @type and event/);
  });

  it("is named with the cure if Kafka Connect wraps or captures it", () => {
    assert.match(
      describeRejection('{"schema":{},"payload":{"eventType":"A"}}'),
      /Kafka Connect: set value\.converter\.schemas\.enable=false/,
    );
    for (const text of ['{"before":null,"after":{},"op":"c"}', '{"op":"d","before":{}}'])
      assert.match(describeRejection(text), /change event: unwrap it/);
  });
});
