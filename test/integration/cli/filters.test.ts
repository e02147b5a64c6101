import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseNdjson } from "../../support/ndjson.ts";
import { runCli } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const explain = (...args: string[]) => runCli(["filters", "explain", ...args], {});

describe("topicsync filters explain", () => {
  it("explains a filter in words, with its canonical text and notes", async () => {
    const { code, output } = await explain(
      "troubleTicket.severity=Critical,Major&priority>3&status!=closed,cancelled",
    );
    assert.equal(code, 0);
    assert.match(
      output,
      /1\. troubleTicket\.severity is "Critical" or "Major"\n2\. and priority is greater than 3\n3\. and status is none of "closed", "cancelled" \(and is present\)/,
    );
    assert.match(
      output,
      /canonical: priority>3&status!=cancelled,closed&troubleTicket\.severity=Critical,Major/,
    );
    assert.match(output, /note: Numbers compare with 3 as numbers/);
    assert.match((await explain("")).output, /matches every event/);
  });

  it("prints the conditions as JSON", async () => {
    const { code, output } = await explain("--json", "a.b=2,1&c.gt=5&a.b=3");
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(output), {
      conditions: [
        { path: ["a", "b"], operator: "eq", values: ["2", "1", "3"] },
        { path: ["c"], operator: "gt", values: ["5"] },
      ],
      canonical: "a.b=1,2,3&c>5",
    });
  });

  it("treats event.x as x in a contentQuery", async () => {
    const { output } = await explain("--json", "--content-query", "x=1&event.x=2");
    assert.deepEqual(JSON.parse(output), {
      conditions: [{ path: ["x"], operator: "eq", values: ["1", "2"] }],
      canonical: "x=1,2",
    });
    const asHeaderQuery = await explain("--json", "x=1&event.x=2");
    assert.match(asHeaderQuery.output, /"canonical":"event\.x=2&x=1"/);
  });

  it("marks the error in an invalid filter and exits with 3", async () => {
    const { code, output, errors } = await explain("eventType=A&&severity=1");
    assert.deepEqual([code, output], [3, ""]);
    assert.equal(
      errors,
      '  eventType=A&&severity=1\n              ^\nerror: the filter has no condition here; expected "name=value" (character 13)\n',
    );
  });
});

describe("topicsync filters check", () => {
  const { uri, db } = testDatabase(sharedStack().mongodb);
  const settings = { MONGODB_URI: uri };
  const topics = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic");
  const check = (...args: string[]) => runCli(["filters", "check", ...args], settings);

  it("exits with 0 when every filter is valid, also without topics", async () => {
    const none = await check();
    assert.deepEqual([none.code, none.output], [0, "0 topics, all filters are valid\n"], none.errors);
    await topics.insertMany(
      Array.from({ length: 12 }, (_, n) =>
        createTopicRecord({ externalId: `fine-${n}`, contentQuery: `n=${n}` }),
      ),
    );
    const fine = await check();
    assert.deepEqual([fine.code, fine.output], [0, "12 topics, all filters are valid\n"], fine.errors);
    assert.deepEqual(await check("--json"), { code: 0, output: "", errors: "" });
  });

  it("lists invalid filters with the position of the error and exits with 3", async () => {
    await topics.insertMany([
      createTopicRecord({ externalId: "bad-header", headerQuery: "a=1;b=2" }),
      createTopicRecord({ externalId: "bad-both", headerQuery: "a=", contentQuery: "x\u0000y" }),
    ]);
    const { code, output, errors } = await check("--json");
    assert.equal(code, 3, errors);
    const found = (parseNdjson(output) as Record<string, unknown>[]).toSorted((a, b) =>
      String(a["externalId"]).localeCompare(String(b["externalId"])),
    );
    assert.deepEqual(
      found.map(({ externalId, filter, text, position }) => [externalId, filter, text, position]),
      [
        ["bad-both", "headerQuery", "a=", 2],
        ["bad-both", "contentQuery", "x\u0000y", 3],
        ["bad-header", "headerQuery", "a=1;b=2", 3],
      ],
    );
    assert.match(String(found.at(-1)?.["problem"]), /ambiguous/);
    const table = await check();
    assert.equal(table.code, 3, table.errors);
    assert.match(table.output, /bad-header +name of bad-header +headerQuery +a=1;b=2\n +\^\n +error: /);
    assert.match(table.output, /x\\u\{0\}y/);
    assert.match(table.output, /2 of 14 topics have invalid filters and match no event/);
  });

  it("lists topics without a legal name for a Kafka topic when a router is configured", async () => {
    await topics.deleteMany({});
    await topics.insertMany([
      createTopicRecord({ externalId: "fine" }),
      createTopicRecord({ externalId: "not fine\u0007" }),
    ]);
    const router = { KAFKA_EVENTS_TOPIC: "events", KAFKA_EGRESS_TOPIC: "to.{externalId}" };
    const { code, output } = await runCli(["filters", "check", "--json"], { ...settings, ...router });
    assert.equal(code, 3);
    const [fault, ...others] = parseNdjson(output) as Record<string, unknown>[];
    assert.deepEqual(others, []);
    assert.deepEqual(
      [fault?.["externalId"], fault?.["code"], fault?.["egressTopic"]],
      ["not fine\u0007", "BAD_EGRESS_NAME", "to.not fine\u0007"],
    );
    const table = await runCli(["filters", "check"], { ...settings, ...router });
    assert.equal(table.code, 3, table.errors);
    assert.match(table.output, /kafka topic +"to\.not fine\\u\{7\}" is not a valid Kafka topic name/);
    assert.match(table.output, /2 topics, all filters are valid\n1 of 2 topics has no legal name/);
    assert.equal((await check()).code, 0);
  });
});
