import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  toBase64,
  createCloudEvent,
  decodeRecord,
  createNotification,
  listPaths,
  decodeRejection,
} from "../../../support/records.ts";

const create = "TopicCreateEvent";
const change = "TopicAttributeValueChangeEvent";
const remove = "TopicDeleteEvent";

/** The Topic resource of TMF688. */
const topic = {
  id: "42",
  href: "https://host/tmf-api/event/v4/topic/42",
  name: "Alarms",
  contentQuery: "alarm.perceivedSeverity=critical",
  headerQuery: "eventType=AlarmCreateEvent",
  "@type": "Topic",
  "@baseType": "Entity",
  "@schemaLocation": null,
};
const definition = {
  externalId: "42",
  name: "Alarms",
  namespace: "",
  headerQuery: "eventType=AlarmCreateEvent",
  contentQuery: "alarm.perceivedSeverity=critical",
};

describe("decoding a TMF688 notification", () => {
  for (const type of [create, change, "TopicChangeEvent"]) {
    it(`reads the topic of a ${type} as a definition`, () => {
      assert.deepEqual(decodeRecord({ value: createNotification(type, topic), key: "42" }), {
        kind: "define",
        offset: 5,
        definition,
      });
    });
  }

  it("reads a TopicDeleteEvent as the retirement of its topic", () => {
    for (const deleted of [{ id: "42" }, { id: null, externalId: "42", name: null }, topic])
      assert.deepEqual(decodeRecord({ value: createNotification(remove, deleted), key: "42" }), {
        kind: "retire",
        offset: 5,
        externalId: "42",
      });
  });

  it("prefers externalId to id, reads a namespace, and treats null as missing", () => {
    const ours = {
      ...topic,
      externalId: "ours",
      namespace: "assurance",
      headerQuery: null,
      contentQuery: null,
    };
    assert.deepEqual(decodeRecord({ value: createNotification(create, ours), key: "ours" }), {
      kind: "define",
      offset: 5,
      definition: {
        externalId: "ours",
        name: "Alarms",
        namespace: "assurance",
        headerQuery: "",
        contentQuery: "",
      },
    });
    const theirs = { ...topic, externalId: null };
    assert.deepEqual(decodeRecord({ value: createNotification(create, theirs) }), {
      kind: "define",
      offset: 5,
      definition,
    });
  });

  it("ignores unknown members of the notification and of its event", () => {
    const value = { ...createNotification(create, topic), vendor: [1], event: { topic, other: {}, name: 1 } };
    assert.equal(decodeRecord({ value }).kind, "define");
  });

  const rejected: [title: string, value: object | string, paths: string[], message: RegExp][] = [
    [
      "another type of event, naming those that are understood",
      createNotification("TopicStateChangeEvent", topic),
      ["/eventType"],
      /TopicCreateEvent, TopicAttributeValueChangeEvent, TopicChangeEvent, TopicDeleteEvent/,
    ],
    ["a type that is not text", { eventType: null, event: { topic } }, ["/eventType"], /must be one of/],
    ["an event without a topic", { eventType: create, event: {} }, ["/event/topic"], /is required/],
    ["an event that is none", { eventType: create, event: [] }, ["/event"], /an array/],
    ["a topic without an id", createNotification(remove, { name: "n" }), ["/event/topic/id"], /externalId/],
    [
      "an empty externalId, even with an id",
      createNotification(remove, { id: "1", externalId: "" }),
      ["/event/topic/externalId"],
      /empty/,
    ],
    ["an id that is not text", createNotification(remove, { id: 42 }), ["/event/topic/id"], /a number/],
    [
      "a misspelt filter, with all else that is wrong",
      createNotification(create, { headerquery: "a=1" }),
      ["/event/topic/headerquery", "/event/topic/id", "/event/topic/name"],
      /did you mean headerQuery\?/,
    ],
    [
      "a definition whose name is null",
      createNotification(create, { id: "1", name: null }),
      ["/event/topic/name"],
      /null/,
    ],
    [
      "a change that carries only what changed, and says why",
      createNotification(change, { id: "1", headerQuery: "a=1" }),
      ["/event/topic/name"],
      /whole definition: a compacted log keeps only the last announcement of a key/,
    ],
    [
      "members that hide behind __proto__",
      '{"eventType":"TopicCreateEvent","event":{"__proto__":{"topic":{"id":"1","name":"n"}}}}',
      ["/event/topic"],
      /is required/,
    ],
    [
      "a topic's members that hide behind __proto__",
      '{"eventType":"TopicCreateEvent","event":{"topic":{"id":"1","__proto__":{"name":"n"}}}}',
      ["/event/topic/__proto__", "/event/topic/name"],
      /is not a known member/,
    ],
    [
      "texts of more than 1,000 characters",
      createNotification(create, {
        ...topic,
        name: "x".repeat(1_001),
        externalId: "x".repeat(1_001),
        namespace: "x".repeat(1_001),
      }),
      ["/event/topic/externalId", "/event/topic/name", "/event/topic/namespace"],
      /must have at most 1000 characters/,
    ],
    [
      "a CloudEvent in place of the topic",
      createNotification(create, createCloudEvent({ data: topic })),
      ["data", "name", "source", "specversion", "type"].map((name) => `/event/topic/${name}`),
      /is not a known member/,
    ],
  ];
  for (const [title, value, paths, message] of rejected) {
    it(`rejects ${title}`, () => {
      const rejection = decodeRejection({ value });
      assert.equal(rejection.code, "SCHEMA_VIOLATION");
      assert.deepEqual(listPaths(rejection), paths);
      assert.match(rejection.message, /^The announcement was read as a TMF688 notification: /);
      assert.match(rejection.message, message);
    });
  }

  it("rejects a different key, also for a TopicDeleteEvent, with the path of the id", () => {
    const ids: [topic: object, path: string][] = [
      [{ id: "42", name: "n" }, "/event/topic/id"],
      [{ id: "f", externalId: "42", name: "n" }, "/event/topic/externalId"],
    ];
    for (const type of [create, change, remove]) {
      for (const [given, path] of ids) {
        const rejection = decodeRejection({ value: createNotification(type, given), key: "f" });
        assert.equal(rejection.code, "KEY_MISMATCH");
        assert.deepEqual(listPaths(rejection), [path]);
      }
    }
  });

  it("reports paths from the root of the value", () => {
    const partial = createNotification(create, { id: "1" });
    const inEvent = decodeRejection({ value: createCloudEvent({ data: partial }) });
    assert.deepEqual(listPaths(inEvent), ["/data/event/topic/name"]);
    assert.match(inEvent.message, /read as a TMF688 notification in a CloudEvent \(structured mode\): /);
    const inText = decodeRejection({ value: createCloudEvent({ data_base64: toBase64(partial) }) });
    assert.deepEqual(inText.details, [
      { path: "/data_base64", message: "holds JSON in which /event/topic/name is required" },
    ]);
  });
});
