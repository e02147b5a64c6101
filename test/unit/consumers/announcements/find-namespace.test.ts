import assert from "node:assert/strict";
import { it } from "node:test";

import { findNamespace } from "../../../../consumers/announcements/decode.ts";
import { toHeaders, type NamedHeaders } from "../../../support/records.ts";

const find = (value: object | string | null, headers: NamedHeaders = {}): string | undefined =>
  findNamespace({
    value: value === null ? null : Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
    headers: toHeaders(headers),
  });

const topic = { externalId: "a", name: "A" };

it("the namespace of a record is that of its definition, in any form", () => {
  assert.equal(find({ ...topic, namespace: "sales" }), "sales");
  assert.equal(find(topic), "");
  assert.equal(find({ ...topic, namespace: null }), "");
  const created = { eventId: "1", eventType: "TopicCreateEvent" };
  const notification = (one: object) => ({ ...created, event: { topic: one } });
  assert.equal(find(notification({ ...topic, namespace: "sales" })), "sales");
  const cloudEvent = {
    specversion: "1.0",
    id: "1",
    source: "x",
    type: "y",
    data: { ...topic, namespace: "s" },
  };
  assert.equal(find(cloudEvent, { "content-type": Buffer.from("application/cloudevents+json") }), "s");
});

it("the namespace of a faulty definition counts if it is a text", () => {
  assert.equal(find({ namespace: "sales" }), "sales");
  assert.equal(find({ ...topic, namespace: "sales", contentQuery: "(((" }), "sales");
  for (const unknown of [
    null,
    "",
    "no JSON",
    "[]",
    { externalId: "a" },
    { ...topic, nameSpace: "sales" },
    { ...topic, namespace: 7 },
    { ...topic, namespace: "x".repeat(1_001) },
    { eventType: "TopicDeleteEvent", event: { topic: { id: "a" } } },
    { ...topic, note: "x".repeat(200_000), namespace: "sales" },
  ])
    assert.equal(find(unknown), undefined, JSON.stringify(unknown).slice(0, 100));
});
