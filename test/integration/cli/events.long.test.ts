import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { EventTypeList, EventTypeView } from "../../../schemas/event-types.ts";
import { useFolder } from "../../support/folder.ts";
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
const folder = useFolder();
const random = createRandom(1);
const events = Array.from({ length: 400 }, () => createTmfEvent(random));
const topics = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic");

const run = (args: readonly string[], settings: Readonly<Record<string, string>> = {}) =>
  runCli(args, { MONGODB_URI: uri, ...settings });

const listTypes = async (): Promise<EventTypeList["eventTypes"]> =>
  (JSON.parse((await run(["events", "types", "--json"])).output) as EventTypeList).eventTypes;

describe("topicsync events", () => {
  it("says that nothing is known yet", async () => {
    const { code, output } = await run(["events", "types"]);
    assert.deepEqual(
      [code, output],
      [0, "No event types are known yet. A router learns them, or `topicsync events learn`.\n"],
    );
  });

  it("learns from a file, skips lines that are not events, and shows what it has learned", async () => {
    const lines = [...events.map((one) => JSON.stringify(one)), "", "no JSON", '{"event": 1}'];
    const file = folder.createFile("events.ndjson", lines.join("\n"));
    const { code, output, errors } = await run(["events", "learn", file, "--json"]);
    assert.deepEqual([code, JSON.parse(output)], [3, { events: 400, types: 5, rejected: 2 }]);
    assert.equal(errors, "2 lines skipped: not a valid event\n");
    const types = await listTypes();
    assert.equal(types.length, 5);
    assert.equal(types[0]?.name, "TroubleTicketCreateEvent");
    assert.equal(
      types.reduce((sum, { events }) => sum + events, 0),
      400,
    );
    const shown = await run(["events", "show", "AlarmCreateEvent"]);
    assert.match(shown.output, /^path +events +kinds +last +values\neventId +100 % +string /);
    assert.match(shown.output, /\nevent\.alarm\.isRootCause +100 % +boolean +\d{4}-\d\d-\d\d \d\d:\d\d\n/);
    assert.match(shown.output, /\n(\d+) events of \1 looked into, since \d{4}-\d\d-\d\d \d\d:\d\d\n$/);
  });

  it("stores values only if it may", async () => {
    const file = folder.createFile("alarms.ndjson", events.map((one) => JSON.stringify(one)).join("\n"));
    const findValues = async () => {
      const { output } = await run(["events", "show", "AlarmCreateEvent", "--json"]);
      const { paths } = JSON.parse(output) as EventTypeView;
      return paths.find(({ name }) => name === "alarm.perceivedSeverity")?.values;
    };
    assert.equal(await findValues(), undefined);
    assert.equal((await run(["events", "learn", file], { EVENT_LEARNING: "values" })).code, 0);
    assert.deepEqual(await findValues(), ["CLEARED", "CRITICAL", "MAJOR", "MINOR"]);
  });

  it("learns from the end of the events topic", async () => {
    const topic = unique("events");
    await createKafkaTopics(admin, { topic, numPartitions: 1 });
    const value = (eventType: string) => ({ value: JSON.stringify({ eventType, event: {} }) });
    await producer.send({
      topic,
      messages: [
        ...Array.from({ length: 10 }, () => value("Early")),
        value("Late"),
        { value: "x" },
        value("Late"),
      ],
    });
    const settings = { KAFKA_BROKERS: sharedStack().kafka, KAFKA_EVENTS_TOPIC: topic };
    const { code, output, errors } = await run(["events", "learn", "--last", "3"], settings);
    assert.deepEqual([code, output], [0, "learned from 2 events of 1 type\n"], errors);
    assert.equal(errors, "1 record skipped: not a valid event\n");
    assert.equal((await listTypes()).find(({ name }) => name === "Late")?.events, 2);
    const without = await run(["events", "learn", "--last", "3"]);
    assert.deepEqual([without.code, without.errors], [78, "topicsync: --last needs KAFKA_EVENTS_TOPIC\n"]);
    assert.equal((await run(["events", "learn"])).code, 64);
    assert.equal((await run(["events", "learn", "x", "--last", "3"])).code, 64);
  });

  it("forgets a type", async () => {
    assert.deepEqual(await run(["events", "forget", "Late"]), {
      code: 0,
      output: "forgot Late\n",
      errors: "",
    });
    for (const command of ["forget", "show"]) {
      const { code, errors } = await run(["events", command, "Late"]);
      assert.equal(code, 1);
      assert.equal(errors, 'topicsync: there is no event type "Late"; `topicsync events types` lists them\n');
    }
  });
});

describe("topicsync filters check --against-events", () => {
  it("lists conditions that no event is known to meet, and still exits with 0", async () => {
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
      /misspelled .* contentQuery +`troubleTicket\.severty` did not occur in \d+ events of type/,
    );
    assert.match(table.output, /2 topics, all filters are valid\n1 condition that no known event meets\n$/);
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
