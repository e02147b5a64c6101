import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { describe, it } from "node:test";

import { ensureIndexes } from "../../../src/storage/indexes.ts";
import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { runCli, runJson } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const settings = { MONGODB_URI: uri };
await ensureIndexes(db);
const stored = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
await stored.insertMany(
  ["tickets", "alarms", "orders"].map((externalId) =>
    createTopicRecord({ externalId, contentQuery: `a=${externalId}` }),
  ),
);

const topics = (...args: readonly string[]) => runCli(["topics", ...args], settings);
const json = async (...args: readonly string[]) =>
  (await runJson(["topics", ...args], settings)) as { details: Record<string, unknown> };
const lines = async (...args: readonly string[]) => {
  const { code, output, errors } = await topics(...args, "--json");
  assert.equal(code, 0, errors);
  return parseNdjson(output) as Record<string, unknown>[];
};
const listIds = async (...args: readonly string[]) =>
  (await lines("list", ...args)).map(({ externalId }) => externalId);

const everything = [
  ...["--owner", "team-noc", "--description", "Wakes people", "--contact", "noc@example.org"],
  ...["--tag", "p1", "network", "--label", "cost-center=4711", "tier=gold", "--lifecycle", "deprecated"],
  ...["--sunset", "2027-01-01", "--replaced-by", "alarms", "--consumer", "noc=dash@example.org", "reports"],
  "--protected",
];

describe("topicsync topics describe", () => {
  it("sets what the options name, and keeps the rest", async () => {
    const first = (await json("describe", "tickets", ...everything)).details;
    const { changedOn, ...details } = first;
    assert.match(String(changedOn), /^\d{4}-/);
    assert.deepEqual(details, {
      ...{
        owner: "team-noc",
        description: "Wakes people",
        contact: "noc@example.org",
        tags: ["network", "p1"],
      },
      ...{ labels: { "cost-center": "4711", tier: "gold" }, lifecycle: "deprecated", sunset: "2027-01-01" },
      replacedBy: "alarms",
      consumers: [
        { name: "noc", contact: "dash@example.org" },
        { name: "reports", contact: "" },
      ],
      ...{ protected: true, version: 1, set: null, path: null, applied: null },
      changedBy: `cli:${userInfo().username}`,
    });
    const second = (await json("describe", "tickets", "--owner", "team-ran", "--no-protected")).details;
    assert.deepEqual({ ...second, changedOn }, { ...first, owner: "team-ran", protected: false, version: 2 });
    const emptied = (await json("describe", "tickets", "--tag", "", "--sunset", "", "--label", "")).details;
    assert.deepEqual([emptied["tags"], emptied["sunset"], emptied["labels"]], [[], null, {}]);
    assert.equal((await topics("describe", "tickets", ...everything)).output, "described tickets\n");
    assert.equal((await topics("describe", "tickets", "--owner", "team-noc")).output, "unchanged: tickets\n");
  });

  it("prints the details with the topic", async () => {
    const { output } = await topics("show", "tickets");
    for (const line of [
      "owner        team-noc",
      "tags         network, p1",
      "labels       cost-center=4711, tier=gold",
      "replaced by  alarms",
      "consumers    noc (dash@example.org), reports",
      "protected    yes",
    ])
      assert.ok(output.includes(`${line}\n`), `${line} is missing in ${output}`);
    assert.ok(!(await topics("show", "orders")).output.includes("described"));
  });

  it("rejects wrong values, versions and topics, and says why", async () => {
    const cases: [args: string[], code: number, message: RegExp][] = [
      [["tickets", "--label", "a b=c"], 3, /\/labels\/a b has a name that must be/],
      [["tickets", "--replaced-by", "nothing"], 3, /not the external id of an active topic: "nothing"/],
      [["tickets", "--owner", "x", "--if-version", "1"], 3, /changed since they were read/],
      [["tickets", "--owner", "x", "--if-version", "x"], 64, /a whole number, 0 or more/i],
      [["tickets", "--lifecycle", "draft"], 64, /Allowed choices are active, deprecated/],
      [["tickets"], 64, /say what to change/],
      [["nothing", "--owner", "x"], 1, /no topic "nothing"/],
    ];
    for (const [args, code, message] of cases) {
      const result = await topics("describe", ...args);
      assert.equal(result.code, code, result.errors);
      assert.match(result.errors, message);
    }
  });
});

describe("topicsync topics list", () => {
  it("finds topics by their details, and prints them", async () => {
    await topics("describe", "orders", "--owner", "team-shop", "--description", "Purchases");
    assert.deepEqual(await listIds("--owner", "team-noc"), ["tickets"]);
    assert.deepEqual(await listIds("--tag", "p1", "--label", "tier=gold", "--lifecycle", "deprecated"), [
      "tickets",
    ]);
    assert.deepEqual(await listIds("--search", "PURCH"), ["orders"]);
    assert.deepEqual(await listIds("--search", "alarm"), ["alarms"]);
    assert.deepEqual(await listIds("--set", "none"), []);
    const [one] = await lines("list", "--owner", "team-shop");
    assert.equal((one?.["details"] as { description?: string } | undefined)?.description, "Purchases");
    assert.equal((await topics("list", "--owner", "nobody")).output, "No topics match.\n");
    assert.deepEqual(
      (await lines("list")).map(({ details }) => details !== undefined),
      [false, true, true],
    );
  });

  it("rejects what cannot be searched for", async () => {
    assert.match((await topics("list", "--search", "...")).errors, /must contain a letter or a digit/);
    const label = await topics("list", "--label", "tier");
    assert.deepEqual([label.code, /a name and a value/.test(label.errors)], [64, true]);
  });
});
