import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import type { ImpactResult } from "../../../schemas/impact.ts";
import { useFolder } from "../../support/folder.ts";
import { createKafkaTopics, deleteRecordsBefore } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { runCli, runJson } from "../../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { mongodb, kafka } = sharedStack();
const { uri, db } = testDatabase(mongodb);
const { admin, producer } = testKafka(kafka);
const events = unique("events");
const folder = useFolder();
const withoutEvents = { MONGODB_URI: uri, KAFKA_BROKERS: kafka };
const settings = { ...withoutEvents, KAFKA_EVENTS_TOPIC: events };
const run = (args: readonly string[], own: Readonly<Record<string, string>> = settings, input?: string) =>
  runCli(["topics", "impact", ...args], own, input);
/** Less than an hour is not extrapolated to a day. */
const toTime = (at: number): string => new Date(Date.UTC(2026, 10, 25, 9, 4 * at)).toISOString();
const createEvent = (at: number) => ({
  eventId: `e${at}`,
  eventType: at % 10 === 9 ? "Alarm" : "Ticket",
  event: { severity: ["Critical", "Major", "Minor"][at % 3], list: "\u001b[31m" },
});
const count = 30;
const change = ["--topic", "critical", "--content-query", "severity=Critical,Major"];

before(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
  const configEntries = [{ name: "retention.ms", value: "-1" }];
  await createKafkaTopics(admin, { topic: events, numPartitions: 1, configEntries });
  const messages = Array.from({ length: count }, (_, at) => ({
    value: JSON.stringify(createEvent(at)),
    timestamp: String(Date.parse(toTime(at))),
  }));
  await producer.send({
    topic: events,
    messages: [...messages, { value: "?", timestamp: String(Date.parse(toTime(count))) }],
  });
  await db.collection<{ _id: string }>("svc_api_notif_mgmt_topic").insertMany([
    createTopicRecord({
      externalId: "critical",
      headerQuery: "eventType=Ticket",
      contentQuery: "severity=Critical",
    }),
    createTopicRecord({ externalId: "everything" }),
    createTopicRecord({ externalId: "unused\u0007", headerQuery: "eventType=Order" }),
    createTopicRecord({ externalId: "broken", headerQuery: "a=1;b=2" }),
  ]);
});

describe("topicsync topics impact", () => {
  it("prints what was read, a row per topic, and examples with their reasons", async () => {
    const { code, output, errors } = await run([...change, "--examples", "1"]);
    assert.equal(code, 0, errors);
    const lines = output.split("\n");
    assert.equal(
      lines[0],
      `read 31 records of ${events}, from ${toTime(0)} to ${toTime(30)}: 30 events; not events: 1 MALFORMED_JSON`,
    );
    assert.equal(lines[1], "the same again: --offsets 0:0-31");
    assert.equal(lines[2], "not events, for example: 0:30 MALFORMED_JSON");
    assert.match(lines[4] ?? "", /^external id +filters +before +after +newly +no longer +copies a day$/);
    assert.match(lines[5] ?? "", /^critical +widened +9 +18 +9 +0 +\+108$/);
    assert.equal(lines[7], "critical");
    assert.match(
      lines[8] ?? "",
      new RegExp(
        `^  \\+ ${events}-0-\\d+  2026-11-25T\\S+  does not meet the old event.severity=Critical \\(has "Major"\\)$`,
      ),
    );
  });

  it("compares files with what is stored, and leaves out what does not change", async () => {
    const definitions = [
      { externalId: "everything", name: "any", contentQuery: "severity.exists=true" },
      {
        externalId: "critical",
        name: "other",
        headerQuery: "eventType=Ticket",
        contentQuery: "severity=Critical",
      },
      { externalId: "new", name: "new", headerQuery: "eventType=Alarm" },
    ];
    const file = folder.createFile("a.ndjson", definitions.map((one) => JSON.stringify(one)).join("\n"));
    const { topics } = (await runJson(["topics", "impact", file], settings)) as ImpactResult;
    assert.deepEqual(
      topics.map((one) => [one.externalId, one.change, one.newly, one.noLonger, one.still]),
      [
        ["everything", "narrowed", 0, 0, 30],
        ["new", "created", 3, 0, 0],
      ],
    );
    const same = folder.createFile("b.json", JSON.stringify(definitions.slice(1, 2)));
    const none = await run([same]);
    assert.match(none.output, /\nThe filters of no topic change\.\n$/, none.errors);
    const twice = await run([file, file]);
    assert.deepEqual([twice.code, twice.output], [3, ""]);
    assert.match(twice.errors, /a\.ndjson:1: has the same external id as .*a\.ndjson:1/);
    const faulty = folder.createFile(
      "c.ndjson",
      '{"externalId":"x"}\n{"externalId":"y","name":"y","contentQuery":"a;b"}',
    );
    const rejected = await run([faulty]);
    assert.equal(rejected.code, 3);
    assert.match(rejected.errors, /c\.ndjson:1: .*c\.ndjson:2: .*Nothing was previewed\.\n$/s);
  });

  it("reads events from a file, as the router reads values of records", async () => {
    const cloudEvent = {
      ...{ specversion: "1.0", id: "1", source: "/", type: "t", datacontenttype: "application/json" },
      data: createEvent(1),
    };
    const lines = [
      JSON.stringify(createEvent(0)),
      "",
      JSON.stringify(cloudEvent),
      "no JSON",
      JSON.stringify([]),
    ];
    const file = folder.createFile("events.ndjson", lines.join("\n"));
    const { code, output, errors } = await run([...change, "--events", file, "--json"], withoutEvents);
    assert.deepEqual([code, errors], [3, "2 lines skipped: not a valid event\n"]);
    const { read, topics } = JSON.parse(output) as ImpactResult;
    assert.deepEqual([read.events, read.rejected], [2, { MALFORMED_JSON: 1, SCHEMA_VIOLATION: 1 }]);
    assert.deepEqual(read.rejectedExamples.map(({ code }) => code).toSorted(), Object.keys(read.rejected));
    assert.deepEqual([read.kafkaTopic, read.partitions, read.firstTime], [null, [], null]);
    assert.deepEqual([topics[0]?.newly, topics[0]?.still], [1, 1]);
    assert.equal(topics[0]?.examples.newly[0]?.event, `${file}:3`);
    const piped = await run(
      [...change, "--events", "-", "--json"],
      withoutEvents,
      JSON.stringify(createEvent(1)),
    );
    assert.equal((JSON.parse(piped.output) as ImpactResult).topics[0]?.newly, 1);
  });

  it("counts the events of every stored topic", async () => {
    const { code, output, errors } = await run(["--all"]);
    assert.equal(code, 0, errors);
    assert.match(errors, /^warning: skipped 1 topic with invalid filters/);
    assert.match(output, /\nTicket +27 +0 \(0\.0 %\)\nAlarm +3 +0 \(0\.0 %\)\n/);
    assert.match(
      output,
      /\n3 topics\n {2}1 without an event: unused\\u\{7\}\n {2}1 with every event: everything\n$/,
    );
    const lines = parseNdjson((await run(["--all", "--json", "--last", "11"])).output);
    const [read, ...rest] = lines as [Record<string, unknown>, ...Record<string, unknown>[]];
    assert.deepEqual([read["kind"], read["events"]], ["read", 10]);
    assert.deepEqual(rest, [
      { kind: "type", eventType: "Ticket", events: 9, unmatched: 0 },
      { kind: "type", eventType: "Alarm", events: 1, unmatched: 0 },
      { kind: "topic", externalId: "critical", events: 3 },
      { kind: "topic", externalId: "everything", events: 10 },
      { kind: "topic", externalId: "unused\u0007", events: 0 },
    ]);
  });

  it("names the setting, the right offsets and the cure", async () => {
    const missing = await run(change, withoutEvents);
    assert.equal(missing.code, 78);
    assert.match(missing.errors, /set KAFKA_EVENTS_TOPIC .* or use --kafka-topic or --events\n$/);
    const other = unique("none");
    const unknown = await run([...change, "--kafka-topic", other], withoutEvents);
    assert.equal(unknown.code, 69);
    assert.match(unknown.errors, new RegExp(`there is no Kafka topic named "${other}"`));
    await deleteRecordsBefore(admin, { topic: events, partition: 0, offset: 5 });
    const expired = await run([...change, "--offsets", "0:3-9"]);
    assert.equal(expired.code, 3);
    assert.match(
      expired.errors,
      /begins with an offset that Kafka no longer keeps: begin with 5 or a later one\.\n$/,
    );
    const later = await run([...change, "--offsets", "0:5-9", "--json"]);
    assert.equal((JSON.parse(later.output) as ImpactResult).read.records, 4, later.errors);
    const invalid = await run(["--topic", "critical", "--content-query", "a=1;b"]);
    assert.equal(invalid.code, 3);
    assert.match(invalid.errors, /^the contentQuery is invalid:\n {2}a=1;b\n {5}\^\nerror: /);
  });

  it("rejects options that contradict each other", async () => {
    for (const args of [
      [],
      ["--all", "file"],
      ["--topic", "a"],
      ["--all", "--content-query", "a=1"],
      [...change, "--last", "5", "--from", toTime(0)],
      [...change, "--events", "x", "--offsets", "0:1-2"],
      [...change, "--events", "x", "--kafka-topic", "y"],
      [...change, "--offsets", "0:1"],
      [...change, "--last", "0"],
      [...change, "--from", "yesterday"],
      [...change, "--examples", "101"],
      ["-", "--events", "-"],
    ])
      assert.equal((await run(args)).code, 64, args.join(" "));
  });
});

describe("topicsync topics plan --impact", () => {
  // Of the records that the tests above have left.
  it("counts the events of what the plan changes", async () => {
    const topics = [
      {
        externalId: "critical",
        name: "name of critical",
        namespace: "space",
        headerQuery: "eventType=Ticket",
      },
      { externalId: "planned", name: "planned", headerQuery: "eventType=Alarm" },
    ];
    const file = folder.createFile("plan.yaml", JSON.stringify({ set: "noc", topics }));
    const plan = (...args: string[]) =>
      runCli(["topics", "plan", file, "--adopt", "--impact", ...args], settings);
    const { code, output, errors } = await plan("--json");
    assert.equal(code, 0, errors);
    const { impact } = JSON.parse(output) as { impact: ImpactResult };
    assert.deepEqual(
      impact.topics.map(({ externalId, newly, noLonger, still }) => [externalId, newly, noLonger, still]),
      [
        ["critical", 15, 0, 7],
        ["planned", 3, 0, 0],
      ],
    );
    assert.match((await plan("--format", "markdown")).output, /critical +widened +7 +22 +15 +0/);
    const nothing = await plan("--json", "--server", "http://127.0.0.1:1");
    assert.equal(nothing.code, exitCodes.configuration, nothing.errors);
  });
});
