import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createEgressNaming, type EgressObstacle, type LogRecord } from "@topicsync/kafka";
import { RoutePlan, toRoutedEvent, type RouteOptions, type RoutedEvent } from "../../../src/routing/plan.ts";
import { toRejections } from "../../../src/routing/rejections.ts";
import { toHeaders } from "../../support/records.ts";

const partition = { topic: "events", partition: 5 };

const createRecord = (members: Partial<LogRecord> = {}): LogRecord => ({
  offset: 7,
  timestamp: "1000",
  key: null,
  value: Buffer.from("{}"),
  headers: [["own", "1"]],
  ...members,
});

const toEvent = (picked: readonly string[], members: Partial<LogRecord> = {}): RoutedEvent =>
  toRoutedEvent(createRecord(members), { partition, epoch: 1, picked });

const createPlan = (options: Partial<RouteOptions> = {}) =>
  new RoutePlan({
    partition,
    naming: createEgressNaming("out.{externalId}", new Set(["out.own"])),
    getNamespace: () => "",
    unmatchedTopic: undefined,
    maxCopies: 10_000,
    choosePartition: (key, partitions) => key.length % partitions,
    ...options,
  });

function plan(
  events: readonly RoutedEvent[],
  found: Record<string, number | EgressObstacle>,
  options: Partial<RouteOptions> = {},
) {
  const routes = createPlan(options);
  for (const event of events) assert.equal(routes.add(event), true);
  const targets = new Map(Object.entries(found));
  const copies = [...routes.copies(targets)];
  const undelivered = routes.listUndelivered(targets);
  const { events: routed, unroutable } = routes;
  const rejections = toRejections(undelivered);
  return { events: routed, names: [...routes.names], copies, undelivered, rejections, unroutable };
}

const missing: EgressObstacle = { code: "NO_EGRESS_TOPIC", reason: "it does not exist" };

const list = (count: number): string[] => Array.from({ length: count }, (_, number) => `t${number}`);

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
          headers: [
            ["own", "1"],
            ["topicsync.topic", "a"],
            ["topicsync.event", "events-5-7"],
          ],
          timestamp: "1000",
        },
        {
          topic: "out.b",
          to: 0,
          headers: [
            ["own", "1"],
            ["topicsync.topic", "b"],
            ["topicsync.event", "events-5-7"],
          ],
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
    const { copies, rejections } = plan([toEvent(["a", "gone", "denied"])], {
      "out.a": 1,
      "out.gone": missing,
      "out.denied": { code: "EGRESS_REJECTED", reason: "no right" },
    });
    assert.equal(copies.length, 1);
    const [{ offset, rejection, headers } = assert.fail()] = rejections;
    assert.equal(offset, 7);
    assert.equal(rejection.code, "NO_EGRESS_TOPIC");
    assert.equal(
      rejection.message,
      'The event belongs to the topic "gone", but the Kafka topic "out.gone" is missing: it does not exist. ' +
        'The event belongs to the topic "denied", but the Kafka topic "out.denied" rejects it: no right.',
    );
    assert.deepEqual(headers, { "topicsync.undelivered": '["gone","denied"]' });
  });

  it("explains at most twenty topics, and names all of them", () => {
    const topics = list(300);
    const found = Object.fromEntries(topics.map((topic) => [`out.${topic}`, missing]));
    const [{ rejection, headers } = assert.fail()] = plan([toEvent(["a", ...topics])], {
      "out.a": 1,
      ...found,
    }).rejections;
    assert.equal(rejection.details.length, 20);
    assert.match(rejection.message, /280 more topics\.$/);
    assert.deepEqual(JSON.parse(headers?.["topicsync.undelivered"] ?? ""), topics);
  });

  it("has no list in the dead letter when the event reached none of its topics", () => {
    const { rejections } = plan([toEvent(["gone"])], { "out.gone": missing });
    assert.deepEqual(rejections[0]?.headers, {});
  });

  it("skips and counts topics that no Kafka topic can be named after", () => {
    const { events, names, copies, rejections, unroutable } = plan(
      [toEvent(["a", "own", "no name"]), toEvent(["no name"])],
      { "out.a": 1 },
      { unmatchedTopic: "rest" },
    );
    assert.deepEqual([names, copies.length, rejections], [["out.a"], 1, []]);
    assert.deepEqual(
      events.map(({ topics, isUnmatched }) => [topics, isUnmatched]),
      [
        [["a"], false],
        [[], false],
      ],
    );
    assert.equal(unroutable, 3);
  });

  it("drops events that no topic wants, or forwards them to the Kafka topic for them", () => {
    assert.equal(plan([toEvent([])], {}).copies.length, 0);
    const { names, copies, rejections } = plan([toEvent([])], { rest: 1 }, { unmatchedTopic: "rest" });
    assert.deepEqual(names, ["rest"]);
    assert.deepEqual(copies[0]?.headers, [
      ["own", "1"],
      ["topicsync.event", "events-5-7"],
    ]);
    assert.equal(rejections.length, 0);
    const unmatched = plan([toEvent([])], { rest: missing }, { unmatchedTopic: "rest" });
    assert.match(
      unmatched.rejections[0]?.rejection.message ?? "",
      /matches no topic, and the Kafka topic "rest"/,
    );
  });
});

describe("the size of a plan", () => {
  const fixed = { naming: createEgressNaming("out", new Set()) };

  it("is at most 100,000 copies: what is more is left to the next one", () => {
    const routes = createPlan({ ...fixed, maxCopies: 100_000 });
    const wide = toEvent(list(30_000));
    assert.deepEqual(
      [wide, wide, wide, wide].map((event) => routes.add(event)),
      [true, true, true, false],
    );
    assert.equal(routes.add(toEvent(list(10_000))), true);
    assert.equal(routes.add(toEvent(["a"])), false);
    assert.equal(routes.add(toEvent([])), true);
  });

  it("is at most 64 MiB of copies, unless the first event has more", () => {
    const megabyte = { value: Buffer.alloc(1024 * 1024) };
    const routes = createPlan(fixed);
    assert.equal(routes.add(toEvent(list(60), megabyte)), true);
    assert.equal(routes.add(toEvent(list(5), megabyte)), false);
    assert.equal(routes.add(toEvent(list(3), megabyte)), true);
    assert.equal(createPlan(fixed).add(toEvent(list(100), megabyte)), true);
  });

  it("counts the external ids, which every copy has in a header", () => {
    const routes = createPlan(fixed);
    const long = Array.from({ length: 500 }, (_, number) => `${number}`.padEnd(100_000, "x"));
    assert.equal(routes.add(toEvent(long)), true);
    assert.equal(routes.add(toEvent(long)), false);
  });

  it("does not depend on topics that are skipped, which need no Kafka topic either", () => {
    const routes = createPlan({ maxCopies: 2 });
    assert.equal(routes.add(toEvent(["a", "b", "no name", "own"])), true);
    assert.throws(() => routes.add(toEvent(["c", "d", "e"])), {
      code: "TOO_MANY_TOPICS",
      message: "The event belongs to 3 topics: one event is forwarded to at most 2.",
    });
    assert.deepEqual([...routes.names], ["out.a", "out.b"]);
  });

  it("has no place for an event whose copies take more than 512 MiB", () => {
    const megabyte = { value: Buffer.alloc(1024 * 1024) };
    assert.throws(() => createPlan(fixed).add(toEvent(list(512), megabyte)), {
      code: "TOO_MANY_TOPICS",
      message: "The event belongs to 512 topics: its copies would take more than 512 MiB.",
    });
  });
});

describe("an event with too many copies", () => {
  const namespaces: Readonly<Record<string, string>> = {
    t: "evil",
    p: "pay",
    q: "pay.cards",
    r: "pay.bills",
  };
  const getNamespace = (externalId: string): string => namespaces[externalId[0] ?? ""] ?? "";
  const fixed = { naming: createEgressNaming("out", new Set()), getNamespace };
  const forward = (picked: readonly string[], maxCopies: number) => {
    const { copies, rejections } = plan([toEvent(picked)], { out: 1 }, { ...fixed, maxCopies });
    return { forwarded: copies.map(({ externalId }) => externalId), rejections };
  };

  it("is forwarded to all topics of a namespace with few, and to as many as there is room for of others", () => {
    const { forwarded, rejections } = forward([...list(11), "p1", "none"], 10);
    assert.deepEqual(forwarded, [...list(8), "p1", "none"]);
    assert.deepEqual(
      rejections.map(({ rejection: { code, message }, headers }) => ({ code, message, headers })),
      [
        {
          code: "TOO_MANY_TOPICS",
          message:
            'The event belongs to 13 topics: one event is forwarded to at most 10. It is not forwarded to 3 topics of the namespace "evil".',
          headers: { "topicsync.undelivered": JSON.stringify(list(11).slice(8)) },
        },
      ],
    );
  });

  it("has equally many copies for each namespace with many topics", () => {
    const { forwarded } = forward(["p1", "p2", "p3", "t1", "t2", "t3"], 4);
    assert.deepEqual(forwarded, ["p1", "p2", "t1", "t2"]);
    assert.deepEqual(forward(["p1", "none", "t1", "t2", "t3"], 4).forwarded, ["p1", "none", "t1", "t2"]);
  });

  it("counts namespaces with the same first word as one, which share what it has", () => {
    const { forwarded } = forward(["q1", "q2", "q3", "r1", "r2", "t1", "t2", "t3"], 6);
    assert.deepEqual(forwarded, ["q1", "q2", "r1", "t1", "t2", "t3"]);
  });

  it("counts what its copies take in bytes, too", () => {
    const megabyte = { value: Buffer.alloc(1024 * 1024) };
    const routes = createPlan(fixed);
    assert.equal(routes.add(toEvent([...list(512), "p1"], megabyte)), true);
    assert.deepEqual(routes.events[0]?.topics, [...list(510), "p1"]);
  });

  it("has one dead letter, also for what cannot be forwarded for another reason", () => {
    const { rejections } = plan(
      [toEvent([...list(3), "p1", "p2"])],
      { "out.t0": 1, "out.t1": 1, "out.p1": 1, "out.p2": missing },
      {
        getNamespace,
        maxCopies: 4,
      },
    );
    assert.equal(rejections.length, 1);
    assert.deepEqual(JSON.parse(rejections[0]?.headers?.["topicsync.undelivered"] ?? ""), ["t2", "p2"]);
  });

  it("is rejected as a whole when all are of one namespace", () => {
    assert.throws(() => createPlan({ ...fixed, maxCopies: 2 }).add(toEvent(list(3))), {
      code: "TOO_MANY_TOPICS",
    });
  });
});

describe("the replay of an event", () => {
  const replay = (undelivered?: string) => ({
    headers: toHeaders({
      own: "1",
      "topicsync.replay-of": "events-5-1",
      "topicsync.time": "99",
      ...(undelivered === undefined ? {} : { "topicsync.undelivered": undelivered }),
    }),
  });

  it("keeps the id and the time of the event, and goes only to the topics of its dead letter", () => {
    const event = toEvent(["a", "b"], replay('["b","gone"]'));
    assert.deepEqual([event.id, event.topics, event.isUnmatched], ["events-5-1", ["b"], false]);
    assert.deepEqual([event.record.timestamp, event.record.headers], ["99", [["own", "1"]]]);
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
