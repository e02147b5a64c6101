import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createCloudEvent, createBinaryHeaders, addFrame } from "../../support/records.ts";
import { createEvent, defineTopic, routerStage, getText } from "../../support/router-scene.ts";
import { getMetric, getSyncStatus } from "../../support/scene.ts";

const { admin, producer, routerScene } = routerStage();

type Records = Awaited<ReturnType<ReturnType<typeof routerScene>["readAll"]>>;

/** The event and the topic of each copy, sorted. */
const toPairs = (copies: Records) =>
  copies.map((copy) => [getText(copy, "topicsync.event"), getText(copy, "topicsync.topic")]).sort();

/** Recent, since Kafka deletes old records. */
const timestamp = String(Date.now() - 60_000);

describe("the router", () => {
  it("forwards each event to every topic whose filters it meets, with its bytes, key, headers and time", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await scene.send(
      defineTopic("tickets", "eventType=TicketEvent"),
      defineTopic("critical", "eventType=TicketEvent", "severity=critical"),
      defineTopic("orders", "eventType=OrderEvent"),
    );
    await scene.stored(3);
    const value = `  ${JSON.stringify(createEvent("TicketEvent", { severity: "critical" }))}\n`;
    await scene.produce(
      { key: "k1", value, headers: { z: "1", own: "1", none: undefined, empty: "" }, timestamp },
      { value: createEvent("TicketEvent", { severity: "low" }) },
      { value: createEvent("OtherEvent") },
    );
    await scene.routed();

    const copies = await scene.readAll(scene.egress);
    assert.deepEqual(toPairs(copies), [
      [`${scene.events}-0-0`, "critical"],
      [`${scene.events}-0-0`, "tickets"],
      [`${scene.events}-0-1`, "tickets"],
    ]);
    const [first] = copies;
    assert.equal(first?.value?.toString(), value);
    assert.equal(first.key?.toString(), "k1");
    assert.equal(first.timestamp, timestamp);
    assert.deepEqual(
      first.headers.slice(0, -2).map(([name, text]) => [name, text === null ? null : String(text)]),
      [
        ["z", "1"],
        ["own", "1"],
        ["none", null],
        ["empty", ""],
      ],
    );
    const { router } = await getSyncStatus(service);
    assert.deepEqual(router?.counts, { matched: 2, unmatched: 1, forwarded: 3, rejected: {} });
    assert.deepEqual(router.busiest, [
      { externalId: "tickets", events: 2 },
      { externalId: "critical", events: 1 },
    ]);
    assert.equal(router.partitions[0]?.lagRecords, 0);
    assert.equal(await getMetric(service, "topicsync_router_copies_total"), 3);
  });

  it("reads framed events and the data of CloudEvents; what is not an event becomes a dead letter", async () => {
    const scene = routerScene();
    await scene.createTopics();
    await scene.start();
    await scene.send(defineTopic("all", "eventType=E"));
    await scene.stored(1);
    const event = createEvent("E");
    await scene.produce(
      { value: addFrame(event) },
      { value: createCloudEvent({ data: event }) },
      { value: event, headers: createBinaryHeaders() },
      { value: "no JSON", key: "k", headers: { own: "1" } },
      { value: "[]" },
      { value: null },
    );
    await scene.routed();
    assert.deepEqual(
      toPairs(await scene.readAll(scene.egress)),
      [0, 1, 2].map((offset) => [`${scene.events}-0-${offset}`, "all"]),
    );
    const letters = await scene.readAll(scene.deadLetterTopic);
    assert.deepEqual(
      letters.map((letter) => [getText(letter, "topicsync.id"), getText(letter, "topicsync.code")]),
      [
        [`${scene.events}-0-3`, "MALFORMED_JSON"],
        [`${scene.events}-0-4`, "SCHEMA_VIOLATION"],
        [`${scene.events}-0-5`, "UNDECODABLE"],
      ],
    );
    const [first] = letters;
    assert.equal(first?.value?.toString(), "no JSON");
    assert.equal(first.key?.toString(), "k");
    assert.match(getText(first, "__connect.errors.exception.message") ?? "", /^The event is not JSON/);
  });

  it("keeps the order of a partition: by key, and without keys in one partition", async () => {
    const scene = routerScene();
    await scene.createTopics(2, 3);
    await scene.start();
    await scene.send(defineTopic("all", "eventType=E"));
    await scene.stored(1);
    const keys = ["a", "b", "c", undefined];
    const sent = Array.from({ length: 400 }, (_, number) => ({
      partition: number % 2,
      key: keys[Math.floor(number / 2) % keys.length],
      value: createEvent("E", { number }),
    }));
    await scene.produce(
      ...sent.map(({ key, ...record }) => (key === undefined ? record : { ...record, key })),
    );
    await scene.routed();
    const copies = await scene.readAll(scene.egress);
    assert.equal(copies.length, 400);
    const streams = Map.groupBy(copies, (copy) => {
      const source = getText(copy, "topicsync.event")?.split("-").at(-2) ?? "";
      return `${source} ${copy.key?.toString() ?? "none"}`;
    });
    assert.equal(streams.size, 8);
    for (const [name, stream] of streams) {
      assert.equal(new Set(stream.map(({ partition }) => partition)).size, 1, name);
      const offsets = stream.map((copy) => Number(getText(copy, "topicsync.event")?.split("-").at(-1)));
      assert.deepEqual(
        offsets,
        offsets.toSorted((a, b) => a - b),
        name,
      );
    }
  });

  it("forwards to a Kafka topic per topic, and creates missing ones where that is configured", async () => {
    const prefix = unique("egress");
    const scene = routerScene({
      KAFKA_EGRESS_TOPIC: `${prefix}.{namespace}.{externalId}`,
      KAFKA_EGRESS_CREATE: "true",
      KAFKA_EGRESS_PARTITIONS: "2",
      KAFKA_EGRESS_REPLICATION: "1",
    });
    await scene.createTopics();
    const service = await scene.start();
    await scene.send(
      { ...defineTopic("one", "eventType=E"), namespace: "sales" },
      { ...defineTopic("two", "eventType=E"), namespace: "" },
      { ...defineTopic("no name", "eventType=E"), namespace: "sales" },
    );
    await scene.stored(3);
    await scene.produce({ value: createEvent("E") });
    await scene.routed();
    assert.equal((await scene.readAll(`${prefix}.sales.one`)).length, 1);
    assert.equal((await scene.readAll(`${prefix}..two`)).length, 1);
    const [audited, ...others] = service.log.filter(({ msg }) => msg === "egress-topics.created");
    assert.deepEqual(others, []);
    assert.equal(audited?.["audit"], true);
    assert.equal(audited["from"], scene.events);
    assert.deepEqual(audited["topics"], [`${prefix}..two`, `${prefix}.sales.one`]);
    const { topics } = await admin.fetchTopicMetadata({ topics: [`${prefix}.sales.one`] });
    assert.equal(topics[0]?.partitions.length, 2);
    assert.equal((await scene.readAll(scene.deadLetterTopic)).length, 0);
    assert.equal(await getMetric(service, "topicsync_router_unroutable_total"), 1);
  });

  it("never forwards to its own Kafka topics", async () => {
    const events = unique("events");
    const scene = routerScene({ KAFKA_EVENTS_TOPIC: events, KAFKA_EGRESS_TOPIC: `${events}{externalId}` });
    await createKafkaTopics(admin, { topic: events, numPartitions: 1 });
    const service = await scene.start();
    await scene.send(defineTopic(".dead-letter", ""));
    await until("the router knows the topic", async () => {
      const { router } = await getSyncStatus(service);
      return router?.index?.topics === 1;
    });
    await producer.send({ topic: events, messages: [{ value: JSON.stringify(createEvent("E")) }] });
    await until("the event is read", async () => {
      const { router } = await getSyncStatus(service);
      return router?.counts?.matched === 1;
    });
    assert.equal((await scene.readAll(`${events}.dead-letter`)).length, 0);
    assert.equal(await getMetric(service, "topicsync_router_unroutable_total"), 1);
  });

  it("sends events that no topic wants to the Kafka topic for them", async () => {
    const unmatched = unique("unmatched");
    const scene = routerScene({ KAFKA_UNMATCHED_TOPIC: unmatched });
    await scene.createTopics();
    await scene.start();
    await scene.produce({ key: "k", value: createEvent("E") });
    await scene.routed();
    const [record] = await scene.readAll(unmatched);
    assert.ok(record !== undefined);
    assert.equal(getText(record, "topicsync.event"), `${scene.events}-0-0`);
    assert.equal(getText(record, "topicsync.topic"), undefined);
  });

  it("makes a dead letter of what the egress topic rejects, and forwards everything else once", async () => {
    const small = unique("small");
    const scene = routerScene({ KAFKA_EGRESS_TOPIC: `${small}.{externalId}` });
    await scene.createTopics(1);
    await createKafkaTopics(
      admin,
      {
        topic: `${small}.narrow`,
        numPartitions: 2,
        configEntries: [{ name: "max.message.bytes", value: "2000" }],
      },
      { topic: `${small}.wide`, numPartitions: 2 },
    );
    await scene.start();
    await scene.send(defineTopic("narrow", "eventType=E"), defineTopic("wide", "eventType=E"));
    await scene.stored(2);
    const large = "x".repeat(3_000);
    await scene.produce(
      ...Array.from({ length: 20 }, (_, number) => ({
        key: String(number % 3),
        value: createEvent("E", number === 7 ? { large } : { number }),
      })),
    );
    await scene.routed();
    assert.equal((await scene.readAll(`${small}.wide`)).length, 20);
    const narrow = (await scene.readAll(`${small}.narrow`)).map((copy) => getText(copy, "topicsync.event"));
    assert.equal(new Set(narrow).size, 19);
    assert.equal(narrow.length, 19);
    const letters = await scene.readAll(scene.deadLetterTopic);
    assert.deepEqual(
      letters.map((letter) => [getText(letter, "topicsync.id"), getText(letter, "topicsync.code")]),
      [[`${scene.events}-0-7`, "EGRESS_REJECTED"]],
    );
  });
});

describe("forged headers of an event", () => {
  it("change neither its copies nor its dead letter", async () => {
    const prefix = unique("egress");
    const scene = routerScene({ KAFKA_EGRESS_TOPIC: `${prefix}.{externalId}` });
    await scene.createTopics();
    await createKafkaTopics(admin, { topic: `${prefix}.there`, numPartitions: 1 });
    await scene.start();
    await scene.send(defineTopic("there", "eventType=E"), defineTopic("missing", "eventType=E"));
    await scene.stored(2);
    const headers = {
      "topicsync.replay-of": `${scene.events}-0-123456`,
      "topicsync.undelivered": "[]",
      "topicsync.time": "soon",
      "topicsync.proof": "x",
      own: "1",
    };
    await scene.produce({ value: createEvent("E"), headers, timestamp });
    await scene.routed();
    const [copy, ...more] = await scene.readAll(`${prefix}.there`);
    assert.ok(copy !== undefined);
    assert.equal(more.length, 0);
    assert.equal(copy.timestamp, timestamp);
    assert.equal(getText(copy, "topicsync.event"), `${scene.events}-0-0`);
    assert.deepEqual(copy.headers.map(([name]) => name).sort(), [
      "own",
      "topicsync.event",
      "topicsync.topic",
    ]);
    const [letter] = await scene.readAll(scene.deadLetterTopic);
    assert.ok(letter !== undefined);
    assert.equal(getText(letter, "topicsync.undelivered"), '["missing"]');
    for (const name of ["replay-of", "time"]) assert.equal(getText(letter, `topicsync.${name}`), undefined);
    assert.notEqual(getText(letter, "topicsync.proof"), "x");
  });
});

describe("the dead letters of events", () => {
  it("are replayed to the topics that they could not be forwarded to", async () => {
    const prefix = unique("egress");
    const scene = routerScene({ KAFKA_EGRESS_TOPIC: `${prefix}.{externalId}` });
    await scene.createTopics();
    await createKafkaTopics(admin, { topic: `${prefix}.there`, numPartitions: 1 });
    const service = await scene.start();
    await scene.send(defineTopic("there", "eventType=E"), defineTopic("missing", "eventType=E"));
    await scene.stored(2);
    await scene.produce({
      key: "k",
      value: createEvent("E"),
      headers: { own: "1" },
      timestamp,
    });
    await scene.routed();
    const { router } = await getSyncStatus(service);
    assert.deepEqual(router?.counts?.rejected, { NO_EGRESS_TOPIC: 1 });
    const { json } = await scene.deadLettersOverHttp(service);
    assert.deepEqual(
      json.deadLetters.map(({ id, code }: { id: string; code: string }) => [id, code]),
      [[`${scene.events}-0-0`, "NO_EGRESS_TOPIC"]],
    );
    await createKafkaTopics(admin, { topic: `${prefix}.missing`, numPartitions: 1 });
    const { code } = await scene.cli("dead-letters", "replay", "--channel", "events", "--all", "--yes");
    assert.equal(code, 0);
    await scene.routed();
    assert.equal((await scene.readAll(`${prefix}.there`)).length, 1);
    const [copy, ...more] = await scene.readAll(`${prefix}.missing`);
    assert.ok(copy !== undefined);
    assert.equal(more.length, 0);
    assert.equal(getText(copy, "topicsync.event"), `${scene.events}-0-0`);
    assert.equal(copy.timestamp, timestamp);
    assert.deepEqual(copy.headers.map(([name]) => name).sort(), [
      "own",
      "topicsync.event",
      "topicsync.topic",
    ]);
  });
});
