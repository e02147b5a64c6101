import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { EventTypeList, EventTypeView } from "../../../schemas/event-types.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { createRandom } from "../../support/random.ts";
import { stage } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { createTmfEvent } from "../../support/tmf-events.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { admin, producer } = stage();
const { uri, db } = testDatabase(sharedStack().mongodb);
const random = createRandom(1);
const topics = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic");
const topic = unique("events");
const kafka = { KAFKA_BROKERS: sharedStack().kafka };

const run = (args: readonly string[], settings: Readonly<Record<string, string>> = {}) =>
  runCli(args, { MONGODB_URI: uri, ...kafka, KAFKA_EVENTS_TOPIC: topic, ...settings });

describe("topicsync events", () => {
  it("shows what the last events look like", async () => {
    await createKafkaTopics(admin, { topic, numPartitions: 2 });
    const none = await run(["events", "types"]);
    assert.deepEqual([none.code, none.output], [0, "the last 0 events\n"], none.errors);
    const messages = Array.from({ length: 400 }, () => ({ value: JSON.stringify(createTmfEvent(random)) }));
    await producer.send({ topic, messages: [...messages, { value: "no JSON" }] });

    const table = await run(["events", "types"]);
    assert.match(
      table.output,
      /│ type +│ events │ share │ paths │\n.*\n│ TroubleTicketCreateEvent +│ \d+ +│ \d+ % +│ \d+ +│\n(?:.*\n){9}the last 400 events, from \d{4}-\d\d-\d\d \d\d:\d\d to \d{4}-\d\d-\d\d \d\d:\d\d; 1 record skipped: not a valid event\n$/,
    );
    const { sample, eventTypes } = JSON.parse(
      (await run(["events", "types", "--json"])).output,
    ) as EventTypeList;
    assert.deepEqual([sample?.events, sample?.rejected, eventTypes.length], [400, 1, 5]);

    const shown = await run(["events", "type", "AlarmCreateEvent"]);
    assert.match(
      shown.output,
      /│ path +│ events │ kinds +│ values +│\n.*\n│ eventId +│ 100 % +│ string +│ +│\n/,
    );
    assert.match(shown.output, /\n│ event\.alarm\.isRootCause +│ 100 % +│ boolean +│ false, true +│\n/);
    assert.match(shown.output, /\n\d+ of the last 400 events, from .*\n$/);
    const { paths } = JSON.parse(
      (await run(["events", "type", "AlarmCreateEvent", "--json"])).output,
    ) as EventTypeView;
    assert.deepEqual(paths.find(({ name }) => name === "alarm.perceivedSeverity")?.values, [
      "CLEARED",
      "CRITICAL",
      "MAJOR",
      "MINOR",
    ]);
  });

  it("says why it shows nothing", async () => {
    const unknown = await run(["events", "type", "Other"]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.errors, /^topicsync: There is no event type "Other" among the last events/);
    const missing = await run(["events", "types"], { KAFKA_EVENTS_TOPIC: unique("missing") });
    assert.equal(missing.code, 69);
    assert.match(
      missing.errors,
      /topicsync: The events cannot be read: there is no Kafka topic named "missing/,
    );
    const without = await runCli(["events", "types"], { MONGODB_URI: uri, ...kafka });
    assert.deepEqual([without.code, /KAFKA_EVENTS_TOPIC/.test(without.output)], [0, true]);
  });
});

describe("topicsync filters check --against-events", () => {
  it("lists conditions that none of the last events meets, and still exits with 0", async () => {
    const headerQuery = "eventType=TroubleTicketCreateEvent";
    await topics.insertMany([
      createTopicRecord({ externalId: "fine", headerQuery, contentQuery: "troubleTicket.severity=Critical" }),
      createTopicRecord({
        externalId: "misspelled",
        headerQuery,
        contentQuery: "troubleTicket.severty=Critical",
      }),
    ]);
    const plain = await run(["filters", "check"]);
    assert.equal(plain.output, "2 topics, all filters are valid\n");
    const table = await run(["filters", "check", "--against-events"]);
    assert.equal(table.code, 0, table.errors);
    assert.match(
      table.output,
      /misspelled .* contentQuery +`troubleTicket\.severty` did not occur in \d+ sampled events of type/,
    );
    assert.match(
      table.output,
      /2 topics, all filters are valid\n1 condition met by none of the last 400 events\n$/,
    );
    const [warning, ...others] = parseNdjson(
      (await run(["filters", "check", "--against-events", "--json"])).output,
    ) as Record<string, unknown>[];
    assert.deepEqual(others, []);
    assert.deepEqual(
      [warning?.["externalId"], warning?.["code"], warning?.["condition"], warning?.["suggestions"]],
      [
        "misspelled",
        "UNKNOWN_PATH",
        "troubleTicket.severty=Critical",
        [{ filter: "contentQuery", text: "troubleTicket.severity" }],
      ],
    );
  });
});

describe("topicsync topics list --uses-path", () => {
  const list = async (...args: string[]): Promise<string[]> => {
    const { output, errors, code } = await run(["topics", "list", "--json", "--uses-path", ...args]);
    assert.equal(code, 0, errors);
    return (parseNdjson(output) as { externalId: string }[]).map(({ externalId }) => externalId);
  };

  it("lists the topics with a condition on a path or below it, and on a value", async () => {
    await topics.insertMany([
      createTopicRecord({ externalId: "or", contentQuery: "troubleTicket.severity=Major,Critical" }),
      createTopicRecord({ externalId: "rooted", headerQuery: "event.troubleTicket.severity.prefix=Crit" }),
      createTopicRecord({ externalId: "unreadable", contentQuery: "troubleTicket.severity=Major;" }),
    ]);
    assert.deepEqual(await list("troubleTicket.severity"), ["fine", "or", "rooted"]);
    assert.deepEqual(await list("troubleTicket"), ["fine", "misspelled", "or", "rooted"]);
    assert.deepEqual(await list("event.troubleTicket.severity", "--uses-value", "Major"), ["or"]);
    assert.deepEqual(await list("troubleTicket.severity", "--uses-value", "Critical"), [
      "fine",
      "or",
      "rooted",
    ]);
    assert.deepEqual(await list("eventType", "--uses-value", "TroubleTicketCreateEvent"), [
      "fine",
      "misspelled",
    ]);
    assert.deepEqual(await list("severity"), []);
  });

  it("rejects what is not a path", async () => {
    const { code, errors } = await run(["topics", "list", "--uses-path", "a=1"]);
    assert.deepEqual(
      [code, errors],
      [3, 'topicsync: "a=1" is not a path of an event, such as troubleTicket.severity\n'],
    );
    assert.equal((await run(["topics", "list", "--uses-value", "x"])).code, 64);
  });
});
