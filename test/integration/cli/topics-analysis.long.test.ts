import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { parseNdjson } from "../../support/ndjson.ts";
import { runCli } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const settings = { MONGODB_URI: uri };
const stored = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic");
const topics = (...args: string[]) => runCli(["topics", ...args], settings);

const records = [
  createTopicRecord({ externalId: "alarms", headerQuery: "eventType=Alarm" }),
  createTopicRecord({ externalId: "alarms-too", headerQuery: "eventType=Alarm&eventType.prefix=Al" }),
  createTopicRecord({
    externalId: "urgent",
    headerQuery: "eventType=Alarm",
    contentQuery: "severity=Critical,Major",
  }),
  createTopicRecord({
    externalId: "urgent-again",
    headerQuery: "event.severity=Major,Critical&eventType=Alarm",
  }),
  createTopicRecord({
    externalId: "critical",
    headerQuery: "eventType=Alarm",
    contentQuery: "severity=Critical&priority>3",
  }),
  createTopicRecord({ externalId: "tickets", headerQuery: "eventType=Ticket" }),
  createTopicRecord({ externalId: "every" }),
  createTopicRecord({ externalId: "never", headerQuery: "eventType.name=Alarm" }),
  createTopicRecord({ externalId: "lists", contentQuery: "x>5&x<3" }),
  createTopicRecord({ externalId: "hard\u0007", contentQuery: "y.regex=^[^!]{3}[xyz]$" }),
  createTopicRecord({ externalId: "broken", headerQuery: "a=1;b=2" }),
];
before(async () => {
  await stored.insertMany(records);
});

describe("topicsync topics analyze", () => {
  const findings = async (...args: string[]): Promise<unknown[]> => {
    const { code, output, errors } = await topics("analyze", "--json", ...args);
    assert.equal(code, 0, errors);
    return (parseNdjson(output) as { kind: string; externalId?: string }[]).toSorted((a, b) =>
      `${a.kind} ${a.externalId}` < `${b.kind} ${b.externalId}` ? -1 : 1,
    );
  };
  const contained = [
    {
      kind: "contained",
      externalId: "critical",
      in: ["alarms", "alarms-too", "urgent", "urgent-again"],
      total: 4,
    },
    { kind: "contained", externalId: "urgent", in: ["alarms", "alarms-too"], total: 2 },
    { kind: "contained", externalId: "urgent-again", in: ["alarms", "alarms-too"], total: 2 },
  ];
  const impossible = { kind: "impossible", externalId: "never", conditions: ["eventType.name=Alarm"] };

  it("finds topics whose filters may not be intended", async () => {
    const found = await findings();
    assert.deepEqual(found.slice(0, 6), [
      ...contained,
      { kind: "everything", externalId: "every" },
      impossible,
      { kind: "list-only", externalId: "lists", conditions: ["event.x>5", "event.x<3"] },
    ]);
    const same = found.slice(6) as { externalIds: string[] }[];
    assert.deepEqual(same.map(({ externalIds }) => externalIds).sort(), [
      ["alarms", "alarms-too"],
      ["urgent", "urgent-again"],
    ]);
  });

  it("finds only the kinds that are requested", async () => {
    assert.deepEqual(await findings("--kind", "contained"), contained);
    assert.deepEqual(await findings("--kind", "impossible"), [impossible]);
    assert.equal((await findings("--kind", "impossible", "same")).length, 3);
    assert.equal((await topics("analyze", "--kind", "odd")).code, 64);
  });

  it("finds only what concerns one topic", async () => {
    const inUrgent = { kind: "contained", externalId: "critical", in: ["urgent"], total: 1 };
    const same = { kind: "same", externalIds: ["urgent", "urgent-again"], total: 2 };
    assert.deepEqual(await findings("urgent"), [inUrgent, contained[1], same]);
    assert.deepEqual(await findings("urgent", "--kind", "same"), [same]);
    assert.deepEqual(await findings("critical"), [contained[0]]);
    assert.deepEqual(await findings("never"), [impossible]);
    assert.deepEqual(await findings("every"), [{ kind: "everything", externalId: "every" }]);
    assert.deepEqual(await findings("tickets"), []);
    assert.equal((await topics("analyze", "urgent", "--fail-on", "impossible")).code, 0);
  });

  it("reports a topic that is unknown or not active, and one with invalid filters", async () => {
    const unknown = await topics("analyze", "nobody");
    assert.deepEqual([unknown.code, unknown.output], [1, ""]);
    assert.match(unknown.errors, /there is no active topic with the external id "nobody"/);
    const broken = await topics("analyze", "broken");
    assert.deepEqual([broken.code, broken.output], [3, ""]);
    assert.match(broken.errors, /filters of "broken" are invalid/);
  });

  it("prints a table, and warns of topics that were not analyzed", async () => {
    const { code, output, errors } = await topics("analyze");
    assert.equal(code, 0, errors);
    assert.match(output, /kind +external id +finding\n/);
    assert.match(output, /impossible +never +no event matches: eventType\.name=Alarm\n/);
    assert.match(output, /list-only +lists +matches lists only: event\.x>5 and event\.x<3\n/);
    assert.match(output, /contained +urgent +all events are also in alarms, alarms-too\n/);
    assert.match(output, /same +urgent +same events as urgent-again\n/);
    assert.match(output, /\n11 topics: 1 everything, 1 impossible, 1 list-only, 3 contained, 2 same\n$/);
    assert.match(errors, /skipped 1 topic with invalid filters/);
    assert.match(errors, /1 topic could not be compared/);
  });

  it("exits with 3 for findings of the kinds to fail on", async () => {
    assert.equal((await topics("analyze", "--fail-on", "impossible")).code, 3);
    const listed = await topics("analyze", "--json", "--kind", "everything", "--fail-on", "same");
    assert.equal(listed.code, 3);
    assert.equal(parseNdjson(listed.output).length, 3);
    await stored.deleteMany({ header_query: "" });
    assert.equal((await topics("analyze", "--kind", "everything", "--fail-on", "everything")).code, 0);
    await stored.deleteMany({});
    const none = await topics("analyze");
    assert.deepEqual([none.code, none.output], [0, "0 topics: no findings\n"], none.errors);
  });

  it("lists at most 20 topics of any number", async () => {
    const many = Array.from({ length: 30 }, (_, n) =>
      createTopicRecord({ externalId: `part-${n}`, contentQuery: `x=${n},100` }),
    );
    await stored.insertMany([...many, createTopicRecord({ externalId: "narrow", contentQuery: "x=100" })]);
    const [finding, ...others] = (await findings()) as { in: string[]; total: number }[];
    assert.deepEqual([finding?.in.length, finding?.total, others], [20, 30, []]);
    assert.deepEqual(await findings("narrow"), [finding]);
    assert.deepEqual(await findings("part-9"), [
      { kind: "contained", externalId: "narrow", in: ["part-9"], total: 1 },
    ]);
    assert.match((await topics("analyze")).output, /all events are also in part-0, .* and 10 more\n/);
  });
});
