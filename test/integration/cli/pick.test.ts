import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { useFolder } from "../../support/folder.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { runCli } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const topics = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic");
const folder = useFolder();

const records = [
  createTopicRecord({ externalId: "every" }),
  createTopicRecord({
    externalId: "alarms",
    headerQuery: "eventType=Alarm",
    contentQuery: "severity=Critical,Major",
  }),
  createTopicRecord({ externalId: "urgent", contentQuery: "priority>3" }),
  createTopicRecord({ externalId: "keyed", headerQuery: "$key=a&$ce.type.exists=true" }),
  createTopicRecord({ externalId: "broken", headerQuery: "eventType=Alarm;severity=1" }),
];
before(async () => {
  await topics.insertMany(records);
});

const alarm = { eventType: "Alarm", event: { severity: "Major", priority: 10 } };
const calm = { eventType: "Alarm", event: { severity: "Minor" } };

const pick = (args: readonly string[], input = "") => runCli(["pick", ...args], { MONGODB_URI: uri }, input);

/** The external ids in each line of `--json`, by the name of the event. */
async function pickJson(args: readonly string[], input?: string) {
  const { output, ...rest } = await pick(["--json", ...args], input);
  const lines = parseNdjson(output) as { event: string; topics: { externalId: string }[] }[];
  const picked = lines.map(({ event, topics }) => [event, topics.map(({ externalId }) => externalId)]);
  return { picked, ...rest };
}

describe("topicsync pick", () => {
  it("lists the topics of each event, from files and standard input", async () => {
    const path = folder.createFile("alarm.json", JSON.stringify(alarm, undefined, 2));
    const { code, picked } = await pickJson([path, "-"], JSON.stringify(calm));
    assert.equal(code, 0);
    assert.deepEqual(picked, [
      [path, ["alarms", "every", "urgent"]],
      ["-", ["every"]],
    ]);
    const { output } = await pick(["--json", path]);
    const [, every] = records.map(({ _id }) => _id);
    assert.deepEqual((JSON.parse(output) as { topics: unknown[] }).topics[0], {
      id: every,
      externalId: "alarms",
      name: "name of alarms",
      namespace: "space",
    });
    const table = await pick([path]);
    assert.match(
      table.output,
      /alarm\.json matches 3 topics:\nexternal id +name +namespace\nalarms +name of alarms +space\n/,
    );
  });

  it("matches filters on the record that carries the event", async () => {
    const path = folder.createFile("calm.json", JSON.stringify(calm));
    const record = '{"$key":"a","$ce":{"type":"b"}}';
    assert.deepEqual((await pickJson([path, "--record", record])).picked, [[path, ["every", "keyed"]]]);
    const lines = await pickJson(["--ndjson", path, "--record", record]);
    assert.deepEqual(lines.picked, [[`${path}:1`, ["every", "keyed"]]]);
    const { output } = await pick([path, "--record", record, "--explain", "keyed"]);
    assert.match(output, /\$key/);
    const wrong = await pick([path, "--record", '{"key":"a"}']);
    assert.deepEqual([wrong.code, wrong.output], [64, ""]);
    assert.match(wrong.errors, /--record <json>.*\/key .*\$key/s);
  });

  it("names the Kafka topic of each topic, or why there can be none, when a router is configured", async () => {
    const path = folder.createFile("alarm.json", JSON.stringify(alarm));
    const settings = {
      MONGODB_URI: uri,
      KAFKA_EVENTS_TOPIC: "to.alarms",
      KAFKA_EGRESS_TOPIC: "to.{externalId}",
    };
    const { code, output } = await runCli(["pick", "--json", path], settings);
    assert.equal(code, 0);
    const { topics } = JSON.parse(output) as { topics: Record<string, string>[] };
    assert.deepEqual(
      topics.map(({ egressTopic, egressFault }) => [egressTopic, egressFault]),
      [
        ["to.alarms", '"to.alarms" is a Kafka topic that topicsync itself uses'],
        ["to.every", undefined],
        ["to.urgent", undefined],
      ],
    );
    const table = await runCli(["pick", path], settings);
    assert.match(
      table.output,
      /external id +name +namespace +kafka topic\nalarms .*space +"to\.alarms" is a Kafka topic that topicsync itself uses\nevery .*space +to\.every\n/,
    );
  });

  it("explains each condition of a topic", async () => {
    const path = folder.createFile("calm.json", JSON.stringify(calm));
    const { output } = await pick(["--explain", "alarms", path]);
    assert.match(output, /The event does not match alarms:/);
    assert.match(output, /yes +headerQuery +eventType=Alarm +"Alarm"\n/);
    assert.match(output, /no +contentQuery +event\.severity=Critical,Major +"Minor"\n/);
    const urgent = await pick(["--explain", "urgent", path]);
    assert.match(urgent.output, /no +contentQuery +event\.priority>3 +nothing\n/);
    const json = await pick(["--json", "--explain", "alarms", path]);
    assert.deepEqual((JSON.parse(json.output) as { explain: unknown }).explain, {
      externalId: "alarms",
      matches: false,
      conditions: [
        { filter: "headerQuery", condition: "eventType=Alarm", held: true, found: ["Alarm"] },
        {
          filter: "contentQuery",
          condition: "event.severity=Critical,Major",
          held: false,
          found: ["Minor"],
        },
      ],
    });
    assert.match((await pick(["--explain", "every", path])).output, /Every event matches every/);
  });

  it("reports why a topic cannot be explained", async () => {
    const path = folder.createFile("calm.json", JSON.stringify(calm));
    const broken = await pick(["--explain", "broken", path]);
    assert.equal(broken.code, 3);
    assert.match(broken.errors, /The topic "broken" is never picked: .*;/);
    const unknown = await pick(["--explain", "nobody", path]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.errors, /no topic with the external id "nobody"/);
  });

  it("rejects what the router rejects, and picks for the rest", async () => {
    const inputs = [JSON.stringify([alarm]), '"Alarm"', "null", "7", "{}", '{"eventType":["Alarm"]}'];
    const files = inputs.map((text, index) => folder.createFile(`odd-${index}.json`, text));
    const nul = folder.createFile("nul.json", '{"eventType":"\\u0000"}');
    const deep = folder.createFile("deep.json", `${'{"event":'.repeat(10_000)}1${"}".repeat(10_000)}`);
    const { code, picked, errors } = await pickJson([...files, nul, deep]);
    assert.equal(code, 3);
    for (const file of files)
      assert.ok(errors.includes(`${file}: The event is not a valid TMF688 event.`), errors);
    assert.deepEqual(picked, [
      [nul, ["every"]],
      [deep, ["every"]],
    ]);
  });

  it("reports files that are not JSON, picks for the rest and exits with 3", async () => {
    const good = folder.createFile("good.json", JSON.stringify(calm));
    const bad = [folder.createFile("empty.json", ""), folder.createFile("nul.json", "\u0000\u001B{}")];
    const { code, picked, errors } = await pickJson([...bad, good]);
    assert.deepEqual([code, picked], [3, [[good, ["every"]]]]);
    const [empty, framed] = bad;
    assert.ok(errors.includes(`${empty}: The event is not JSON: `), errors);
    assert.ok(errors.includes(`${framed}: The record's value begins with byte 0`), errors);
    assert.ok(!errors.includes("\u0000") && !errors.includes("\u001B"), errors);
    assert.equal((await pick(bad)).code, 3);
  });

  it("names a file that cannot be read", async () => {
    const missing = join(folder.path, "missing.json");
    mkdirSync(join(folder.path, "inner"), { recursive: true });
    for (const [path, flags] of [
      [missing, []],
      [missing, ["--ndjson"]],
      [join(folder.path, "inner"), []],
    ] as const) {
      const { code, errors } = await pick([...flags, path]);
      assert.equal(code, 1);
      assert.ok(errors.includes(`cannot read ${path}: `), errors);
    }
    assert.equal((await pick([])).code, 64);
    assert.equal((await pick(["-", "-"])).code, 64);
  });
});

describe("topicsync pick --ndjson", () => {
  const lines = (...texts: readonly string[]): string => texts.join("\n");

  it("prints the topics of each line", async () => {
    const path = folder.createFile("events.ndjson", `${JSON.stringify(calm)}\r\n\n${JSON.stringify(alarm)}`);
    const { code, output } = await pick(["--ndjson", path, "-"], `\uFEFF${JSON.stringify(alarm)}\n`);
    assert.equal(code, 0);
    assert.deepEqual(
      output.split("\n").filter((line) => line.endsWith(":")),
      [`${path}:1 matches 1 topic:`, `${path}:3 matches 3 topics:`, "-:1 matches 3 topics:"],
    );
  });

  it("prints a line of JSON for each event", async () => {
    const odd = JSON.stringify({ ...alarm, eventId: "\u2028 \u2029 \u0085" });
    const { code, picked } = await pickJson(["--ndjson", "-"], lines(odd, "", JSON.stringify(calm)));
    assert.equal(code, 0);
    assert.deepEqual(picked, [
      ["-:1", ["alarms", "every", "urgent"]],
      ["-:3", ["every"]],
    ]);
  });

  it("reports lines that are not JSON, picks for the rest and exits with 3", async () => {
    const path = folder.createFile("bad.ndjson", lines('{"event":{}}', "no", "{\u0000", '{"event":{}}'));
    const { code, picked, errors } = await pickJson(["--ndjson", path]);
    assert.deepEqual(
      [code, picked],
      [
        3,
        [
          [`${path}:1`, ["every"]],
          [`${path}:4`, ["every"]],
        ],
      ],
    );
    assert.match(errors, /bad\.ndjson:2: The event is not JSON: /);
    assert.match(errors, /bad\.ndjson:3: The event is not JSON: /);
    assert.ok(!errors.includes("\u0000"), errors);
  });

  it("accepts an empty file", async () => {
    const { code, output } = await pick(["--ndjson", folder.createFile("empty.ndjson", "")]);
    assert.deepEqual([code, output], [0, ""]);
  });
});
