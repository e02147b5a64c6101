import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Ajv2020 } from "ajv/dist/2020.js";

import { asyncApiDocument } from "../../../docs/asyncapi.ts";
import { announcementMessages, eventMessages, feedbackMessage } from "../../../docs/asyncapi-messages.ts";
import { decodeEvent } from "../../../consumers/events/decode.ts";
import { decodeReport } from "../../../consumers/push-feedback/decode.ts";
import { decodeRecord, toHeaders } from "../../support/records.ts";

const ajv = new Ajv2020({ strict: false });
ajv.addSchema(asyncApiDocument(), "document");

const externalId = "7f1c2a34-5e0b-4a51-9a3c-2c9a6d0f2b11";

describe("each example of an announcement in the AsyncAPI document", () => {
  for (const { name, examples } of announcementMessages) {
    it(`conforms to the schema and is decoded: ${name}`, () => {
      assert.ok(examples.length > 0);
      for (const { headers = {}, payload } of examples) {
        const validate = ajv.getSchema(`document#/components/messages/${name}/payload`);
        assert.ok(validate?.(payload), ajv.errorsText(validate?.errors));
        const announcement = decodeRecord({ key: externalId, value: payload as object | null, headers });
        assert.notEqual(announcement.kind, "unusable", JSON.stringify(announcement));
      }
    });
  }

  it("names the topic that it defines or retires", () => {
    const kinds = announcementMessages.flatMap(({ examples }) =>
      examples.map(({ headers = {}, payload }) => {
        const announcement = decodeRecord({ key: externalId, value: payload as object | null, headers });
        return announcement.kind === "retire"
          ? `retire ${announcement.externalId}`
          : announcement.kind === "define" && `define ${announcement.definition.externalId}`;
      }),
    );
    assert.deepEqual(
      kinds,
      ["define", "retire", "define", "retire", "define", "define"].map((kind) => `${kind} ${externalId}`),
    );
  });
});

describe("the example of a report in the AsyncAPI document", () => {
  it("conforms to the schema and is decoded", () => {
    const validate = ajv.getSchema("document#/components/messages/pushFeedback/payload");
    for (const { payload } of feedbackMessage.examples) {
      assert.ok(validate?.(payload), ajv.errorsText(validate?.errors));
      const value = Buffer.from(JSON.stringify(payload));
      const report = decodeReport({ offset: 1, timestamp: "-1", key: null, value, headers: [] });
      assert.ok("report" in report, JSON.stringify(report));
    }
  });
});

describe("each example of an event in the AsyncAPI document", () => {
  for (const { name, examples } of eventMessages) {
    it(`conforms to the schema and is decoded: ${name}`, () => {
      assert.ok(examples.length > 0);
      for (const { headers = {}, payload } of examples) {
        const validate = ajv.getSchema(`document#/components/messages/${name}/payload`);
        assert.ok(validate?.(payload), ajv.errorsText(validate?.errors));
        const value = Buffer.from(JSON.stringify(payload));
        const decoded = decodeEvent(
          { offset: 1, timestamp: "-1", key: null, value, headers: toHeaders(headers) },
          1_000,
        );
        assert.ok("event" in decoded, JSON.stringify(decoded));
        assert.equal(decoded.event.eventType, "TroubleTicketCreateEvent");
      }
    });
  }
});
