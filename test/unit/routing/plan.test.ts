import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createEgressNaming } from "../../../src/routing/egress.ts";
import {
  planRoutes,
  toRejections,
  toRoutedEvent,
  type RouteOptions,
  type RoutedEvent,
  type Undelivered,
} from "../../../src/routing/plan.ts";
import type { LogRecord } from "../../../src/sync/records.ts";

const partition = { topic: "events", partition: 5 };

const createRecord = (members: Partial<LogRecord> = {}): LogRecord => ({
  offset: 7,
  timestamp: "1000",
  key: null,
  value: Buffer.from("{}"),
  headers: { own: "1" },
  ...members,
});

const toEvent = (picked: readonly string[], members: Partial<LogRecord> = {}): RoutedEvent =>
  toRoutedEvent(createRecord(members), { partition, epoch: 1, picked });

function plan(
  events: readonly RoutedEvent[],
  found: Record<string, number | string>,
  options: Partial<RouteOptions> = {},
) {
  const routes = planRoutes(events, {
    partition,
    naming: createEgressNaming("out.{externalId}", new Set(["out.own"])),
    getNamespace: () => "",
    unmatchedTopic: undefined,
    choosePartition: (key, partitions) => key.length % partitions,
    ...options,
  });
  const undelivered: Undelivered[] = [];
  const copies = [...routes.copies(new Map(Object.entries(found)), (one) => void undelivered.push(one))];
  return { names: [...routes.names], copies, undelivered, rejections: toRejections(undelivered) };
}

describe("the plan of a batch of events", () => {
  it("has a copy per topic, with the headers that name the topic and the event", () => {
    const { names, copies, rejections } = plan([toEvent(["a", "b"], { key: Buffer.from("key") })], {
      "out.a": 2,
      "out.b": 3,
    });
    assert.deepEqual(names, ["out.a", "out.b"]);
    assert.deepEqual(
      copies.map(({ topic, partition: to, headers, timestamp }) => ({ topic, to, headers, timestamp })),
      [
        {
          topic: "out.a",
          to: 1,
          headers: { own: "1", "topicsync.topic": "a", "topicsync.event": "events-5-7" },
          timestamp: "1000",
        },
        {
          topic: "out.b",
          to: 0,
          headers: { own: "1", "topicsync.topic": "b", "topicsync.event": "events-5-7" },
          timestamp: "1000",
        },
      ],
    );
    assert.deepEqual(rejections, []);
  });

  it("keeps events without a key in one partition, derived from their own", () => {
    const { copies } = plan([toEvent(["a"])], { "out.a": 3 });
    assert.equal(copies[0]?.partition, 2);
  });

  it("names the topics that an event cannot be forwarded to in one dead letter", () => {
    const { copies, rejections } = plan([toEvent(["a", "missing", "own", "no name"])], {
      "out.a": 1,
      "out.missing": "it does not exist",
    });
    assert.equal(copies.length, 1);
    const [{ offset, rejection, headers } = assert.fail()] = rejections;
    assert.equal(offset, 7);
    assert.equal(rejection.code, "NO_EGRESS_TOPIC");
    assert.match(
      rejection.message,
      /"missing", but the Kafka topic "out.missing" is missing: it does not exist/,
    );
    assert.match(
      rejection.message,
      /"own", but no Kafka topic can be used: "out.own" is a Kafka topic that topicsync/,
    );
    assert.deepEqual(headers, { "topicsync.undelivered": '["missing","own","no name"]' });
  });

  it("has no list in the dead letter when the event reached none of its topics", () => {
    const { rejections } = plan([toEvent(["missing"])], {});
    assert.deepEqual(rejections[0]?.headers, {});
  });

  it("drops events that no topic wants, or forwards them to the Kafka topic for them", () => {
    assert.equal(plan([toEvent([])], {}).copies.length, 0);
    const { names, copies, rejections } = plan([toEvent([])], { rest: 1 }, { unmatchedTopic: "rest" });
    assert.deepEqual(names, ["rest"]);
    assert.deepEqual(copies[0]?.headers, { own: "1", "topicsync.event": "events-5-7" });
    assert.equal(rejections.length, 0);
    const missing = plan([toEvent([])], {}, { unmatchedTopic: "rest" });
    assert.match(
      missing.rejections[0]?.rejection.message ?? "",
      /matches no topic, and the Kafka topic "rest"/,
    );
  });
});

describe("the replay of an event", () => {
  const replay = (undelivered?: string) => ({
    headers: {
      own: "1",
      "topicsync.replay-of": "events-5-1",
      "topicsync.time": "99",
      ...(undelivered === undefined ? {} : { "topicsync.undelivered": undelivered }),
    },
  });

  it("keeps the id and the time of the event, and goes only to the topics of its dead letter", () => {
    const event = toEvent(["a", "b"], replay('["b","gone"]'));
    assert.deepEqual([event.id, event.topics, event.isUnmatched], ["events-5-1", ["b"], false]);
    assert.deepEqual([event.record.timestamp, event.record.headers], ["99", { own: "1" }]);
  });

  it("goes to all topics when its dead letter names none", () => {
    for (const one of [replay(), replay("no JSON"), replay("{}")])
      assert.deepEqual(toEvent(["a", "b"], one).topics, ["a", "b"]);
  });

  it("is not unmatched when the topics of its dead letter are gone", () => {
    const event = toEvent([], replay('["gone"]'));
    assert.equal(plan([event], { rest: 1 }, { unmatchedTopic: "rest" }).copies.length, 0);
    assert.equal(toEvent([], replay()).isUnmatched, true);
  });
});
