import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { useFolder } from "../../support/folder.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson, toNdjson } from "../../support/ndjson.ts";
import { runCli, runJson } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const me = `cli:${userInfo().username}`;
const folder = useFolder();
const createFile = (content: string): string => folder.createFile(unique("file"), content);

/** Creates a database with the command line connected to it. */
function createScene() {
  const { uri, db } = testDatabase(sharedStack().mongodb);
  const settings = { MONGODB_URI: uri };
  const topics = (args: readonly string[], input = "") => runCli(["topics", ...args], settings, input);
  return {
    settings,
    topics,
    stored: db.collection<TopicRecord>("svc_api_notif_mgmt_topic"),
    retired: db.collection("svc_api_notif_mgmt_topic_retired"),
    /** Runs a command and parses its NDJSON output. */
    lines: async (...args: string[]) => {
      const { code, output, errors } = await topics(args);
      assert.equal(code, 0, errors);
      return parseNdjson(output) as Record<string, unknown>[];
    },
    json: async (...args: string[]) =>
      (await runJson(["topics", ...args], settings)) as Record<string, unknown>,
  };
}

const announcedTopic = (externalId: string): TopicRecord => ({
  ...createTopicRecord({ externalId }),
  source: { kind: "announcement", topic: "channel", partition: 2, offset: 17 },
});

describe("topicsync topics add", () => {
  const { topics, stored, json } = createScene();
  const args = ["add", "--name", "Net", "--external-id", "net-1"];

  it("creates a topic as HTTP does, with the user as its source", async () => {
    const filters = ["--namespace", "space", "--header-query", "eventType=A", "--content-query", "a.b=1,2"];
    const { id, ...shown } = await json(...args, ...filters);
    const record = await stored.findOne({ topic_id: "net-1" });
    assert.equal(record?._id, id);
    assert.deepEqual(
      [record?.topic_name, record?.namespace, record?.header_query, record?.content_query],
      ["Net", "space", "eventType=A", "a.b=1,2"],
    );
    assert.deepEqual(
      [record?.user_created, record?.type, record?.source],
      [false, "egress", { kind: "http", user: me }],
    );
    assert.equal(shown["externalId"], "net-1");
  });

  it("exits with 3 for what HTTP rejects, with the same reasons", async () => {
    const cases: [string[], RegExp][] = [
      [args, /"net-1" already exists.*unique topic external id/],
      [
        [
          "add",
          "--name",
          "Net",
          "--external-id",
          "net-2",
          "--namespace",
          "space",
          "--header-query",
          "eventType=A",
          "--content-query",
          "a.b=1,2",
        ],
        /unique combination/,
      ],
      [
        ["add", "--name", "n", "--external-id", "e", "--content-query", "a=1;b=2"],
        /contentQuery has a ";".*character 4/,
      ],
    ];
    for (const [given, reason] of cases) {
      const { code, errors } = await topics(given);
      assert.equal(code, 3, errors);
      assert.match(errors, reason);
    }
    assert.equal((await topics(["add", "--name", "n"])).code, 64);
    const empty = await topics(["add", "--name", "", "--external-id", "e"]);
    assert.deepEqual([empty.code, /It must not be empty/.test(empty.errors)], [64, true]);
    assert.equal(await stored.countDocuments(), 1);
  });
});

describe("topicsync topics list and show", () => {
  const { topics, stored, lines, json } = createScene();
  const ids = async (...args: string[]) =>
    (await lines("list", "--json", ...args)).map(({ externalId }) => externalId);

  it("report that there are no topics", async () => {
    assert.match((await topics(["list"])).output, /There are no topics/);
    assert.match((await topics(["list", "--state", "disabled"])).output, /There are no disabled topics/);
    assert.deepEqual(await lines("list", "--json"), []);
    const { code, errors } = await topics(["show", "nothing"]);
    assert.equal(code, 1);
    assert.match(errors, /no topic "nothing".*topics list/);
  });

  it("list by external id, filtered by name, namespace, source and id", async () => {
    await stored.insertMany([
      { ...createTopicRecord({ externalId: "b" }), topic_name: "Critical tickets" },
      { ...createTopicRecord({ externalId: "a" }), topic_name: "Critical alarms", namespace: "" },
      { ...announcedTopic("c"), topic_name: "Critic" },
    ]);
    assert.deepEqual(await ids(), ["a", "b", "c"]);
    assert.deepEqual(await ids("--name", "Critical*"), ["a", "b"]);
    assert.deepEqual(await ids("--name", "Critical"), []);
    assert.deepEqual(await ids("--name", "Critical tickets"), ["b"]);
    assert.deepEqual(await ids("--namespace", ""), ["a"]);
    assert.deepEqual(await ids("--namespace", "space"), ["b", "c"]);
    assert.deepEqual(await ids("--source", "announcement"), ["c"]);
    assert.deepEqual(await ids("--source", "http", "--namespace", "space"), ["b"]);
    assert.deepEqual(await ids("--external-id", "c", "x", "a"), ["a", "c"]);
    assert.equal((await topics(["list", "--source", "kafka"])).code, 64);
    assert.match((await topics(["list", "--name", "x"])).output, /No topics match\./);
  });

  it("understand what people type first", async () => {
    const below = { ...createTopicRecord({ externalId: "d" }), namespace: "space.core" };
    await stored.insertMany([below, { ...createTopicRecord({ externalId: "e" }), namespace: "spaceship" }]);
    assert.deepEqual(await ids("--namespace", "space.*"), ["b", "c", "d"]);
    await stored.deleteMany({ topic_id: { $in: ["d", "e"] } });
    assert.deepEqual(await ids("Critical", "tick"), ["b"]);
    assert.equal((await topics(["list", "Critical", "--name", "Critic"])).code, 64);
    const byName = await topics(["show", "Critical tickets"]);
    assert.deepEqual([byName.code, /The topic "b" has this name\./.test(byName.errors)], [1, true]);
    for (const args of [
      ["rm", "b"],
      ["delete", "b", "--force"],
    ]) {
      const { code, errors } = await topics(args);
      assert.deepEqual([code, /topics disable EXTERNAL-ID/.test(errors)], [64, true]);
    }
    const yaml = folder.createFile("definitions.yaml", "topics:\n  - externalId: x\n");
    const imported = await topics(["import", yaml]);
    assert.deepEqual([imported.code, /YAML is read by .*topics apply/.test(imported.errors)], [3, true]);
  });

  it("show a table with the source of each topic", async () => {
    const { output } = await topics(["list"]);
    assert.match(
      output,
      /^external id +name +namespace +from +changed +last event\na +Critical alarms +http somebody +\d{4}-/,
    );
    assert.match(output, /c +Critic +space +announced 2-17/);
    assert.match(output, /3 topics\n$/);
  });

  it("show all details of a topic, with its filters in words", async () => {
    await stored.insertOne(
      createTopicRecord({ externalId: "words", headerQuery: "eventType=A,B", contentQuery: "n>3&s!=x" }),
    );
    const { output } = await topics(["show", "words"]);
    assert.match(output, /header query +eventType=A,B\n +eventType is "A" or "B"\n/);
    assert.match(output, /content query +n>3&s!=x\n +n is greater than 3\n +and s is not "x"/);
    assert.match(output, /from +over HTTP by somebody/);
    assert.match((await topics(["show", "c"])).output, /from +announced by channel-2-17/);
    assert.match((await topics(["show", "a"])).output, /header query +\(empty\) matches every event/);
    const { source, state, contentQuery } = await json("show", "c");
    assert.deepEqual(
      { source, state, contentQuery },
      {
        source: { kind: "announcement", topic: "channel", partition: 2, offset: 17 },
        state: "active",
        contentQuery: "",
      },
    );
  });

  it("show the members of the previous definition that were different", async () => {
    const record = announcedTopic("changed");
    const { topic_name, namespace, content_query, sys_updated_on } = record;
    const source = { kind: "announcement", topic: "channel", partition: 2, offset: 3 } as const;
    const previous = { topic_name, namespace, content_query, sys_updated_on, source, header_query: "a=1" };
    await stored.insertOne({ ...record, previous });
    const { output } = await topics(["show", "changed"]);
    assert.match(output, /before +announced by channel-2-3 .*\n {4}header query +a=1\n$/);
    assert.equal(((await json("show", "changed"))["previous"] as { headerQuery: string }).headerQuery, "a=1");
    await stored.deleteOne({ topic_id: "changed" });
  });

  it("escape control characters, and show which filter is invalid", async () => {
    await stored.insertOne({
      ...createTopicRecord({ externalId: "evil\u001B[2J", headerQuery: "a=\u0007", contentQuery: "a=1=1" }),
      ...{ topic_name: "n\u202Ename", namespace: "s\rspace", source: { kind: "http", user: "u\u009Buser" } },
    });
    for (const args of [["show", "evil\u001B[2J"], ["list"]]) {
      const { code, output } = await topics(args);
      assert.equal(code, 0);
      assert.match(output, /evil\\u\{1b\}\[2J/);
      // oxlint-disable-next-line no-control-regex -- the test looks for control characters
      assert.doesNotMatch(output, /[\u001B\u0007\u202E\r\u009B]/);
    }
    assert.match(
      (await topics(["show", "evil\u001B[2J"])).output,
      /content query +invalid[^]*\^\nerror: the filter/,
    );
  });

  it("stop at a limit and report that there are more", async () => {
    await stored.insertMany(
      Array.from({ length: 150 }, (_, n) =>
        createTopicRecord({ externalId: `many-${n}`, contentQuery: `n=${n}` }),
      ),
    );
    const table = await topics(["list"]);
    assert.equal(table.output.trim().split("\n").length, 101);
    assert.match(table.errors, /Only the first 100 topics are shown/);
    assert.equal((await ids("--limit", "3")).length, 3);
    assert.match(
      (await topics(["list", "--limit", "3", "--json"])).errors,
      /Only the first 3 topics are shown/,
    );
    assert.equal((await ids()).length, 155);
    assert.match((await topics(["list", "--all"])).output, /155 topics\n$/);
    const exact = await topics(["list", "--name", "Critic*", "--limit", "3"]);
    assert.deepEqual([exact.errors, /3 topics/.test(exact.output)], ["", true]);
    assert.equal((await topics(["list", "--limit", "0"])).code, 64);
    assert.equal((await topics(["list", "--limit", "3", "--all"])).code, 64);
  });
});

describe("topicsync topics disable and enable", () => {
  const { topics, stored, retired, json, lines } = createScene();
  const add = (externalId: string, ...more: string[]) =>
    topics(["add", "--name", "same", "--external-id", externalId, ...more]);

  it("move a topic to the retired ones and back, and free its unique values", async () => {
    await add("one");
    const before = await stored.findOne({ topic_id: "one" });
    const disabled = await json("disable", "one");
    assert.deepEqual([disabled["state"], disabled["retiredBy"]], ["disabled", { kind: "http", user: me }]);
    assert.equal(await stored.countDocuments(), 0);
    assert.equal((await retired.findOne({ topic_id: "one" }))?.["sys_id"], before?._id);
    assert.match((await topics(["show", "one"])).output, /state +disabled\nretired +disabled by cli:/);
    assert.deepEqual(
      (await lines("list", "--state", "disabled", "--json")).map(({ externalId }) => externalId),
      ["one"],
    );
    assert.match((await topics(["list", "--state", "disabled"])).output, /one +same[^]*1 disabled topic\n$/);

    assert.equal((await add("other")).code, 0, "the combination can be reused");
    const rejected = await topics(["enable", "one"]);
    assert.equal(rejected.code, 3);
    assert.match(rejected.errors, /unique combination/);
    await topics(["disable", "other"]);

    assert.match((await topics(["enable", "one"])).output, /^enabled one \(same\)\n/);
    const back = await stored.findOne({ topic_id: "one" });
    assert.deepEqual({ ...back, sys_updated_on: 0 }, { ...before, sys_updated_on: 0, version: 2 });
    assert.ok((back?.sys_updated_on.getTime() ?? 0) > (before?.sys_updated_on.getTime() ?? Infinity));
    assert.deepEqual(
      (await lines("list", "--state", "disabled", "--json")).map(({ externalId }) => externalId),
      ["other"],
    );
  });

  it("change nothing a second time, and report that a topic does not exist", async () => {
    const before = await stored.findOne({ topic_id: "one" });
    assert.equal((await topics(["enable", "one"])).code, 0);
    assert.deepEqual(await stored.findOne({ topic_id: "one" }), before);
    for (const time of ["first", "second"])
      assert.equal((await topics(["disable", "one"])).code, 0, `the ${time} time`);
    for (const verb of ["disable", "enable"]) {
      const { code, errors } = await topics([verb, "nothing"]);
      assert.equal(code, 1);
      assert.match(errors, /no topic with the external id "nothing"/);
    }
  });

  it("reject topics of the channel and name the alternative", async () => {
    await stored.insertOne(announcedTopic("theirs"));
    const disable = await topics(["disable", "theirs"]);
    assert.equal(disable.code, 3);
    assert.match(disable.errors, /belongs to the channel.*channel-2-17.*without a value to channel/);
    assert.equal(await stored.countDocuments({ topic_id: "theirs" }), 1);
    const { _id, ...fields } = announcedTopic("gone");
    const retired_by = { kind: "announcement", topic: "channel", partition: 2, offset: 18 };
    await retired.insertOne({ ...fields, sys_id: _id, retired_on: new Date(), retired_by });
    const enable = await topics(["enable", "gone"]);
    assert.equal(enable.code, 3);
    assert.match(enable.errors, /channel-2-18.*announce it again/);
    assert.match((await topics(["show", "gone"])).output, /retired +by the tombstone channel-2-18/);
  });
});

describe("topicsync topics export and import", () => {
  const from = createScene();
  const to = createScene();
  const definitions = Array.from({ length: 34 }, (_, n) => ({
    ...{
      externalId: `topic-${String(n).padStart(4, "0")}`,
      name: `name ${n % 7}`,
      namespace: n % 2 ? "odd" : "",
    },
    ...{ headerQuery: "eventType=A", contentQuery: `n=${n}` },
  }));
  const exported = join(folder.path, "exported.ndjson");

  it("import topics, and change nothing the second time", async () => {
    const path = createFile(toNdjson(...definitions));
    const first = await from.topics(["import", path]);
    assert.deepEqual([first.code, first.output], [0, "34 created, 0 unchanged, 0 rejected\n"], first.errors);
    const before = await from.stored.find().sort({ topic_id: 1 }).toArray();
    const second = await from.topics(["import", "--json", path]);
    assert.deepEqual(JSON.parse(second.output), { created: 0, unchanged: 34, rejected: [] });
    assert.deepEqual(await from.stored.find().sort({ topic_id: 1 }).toArray(), before);
    assert.deepEqual(before[0]?.source, { kind: "http", user: me });
  });

  it("export what import reads, in a stable order", async () => {
    const { code, output, errors } = await from.topics(["export", "--out", exported]);
    assert.deepEqual([code, output], [0, `exported 34 topics to ${exported}\n`], errors);
    assert.equal(readFileSync(exported, "utf8"), toNdjson(...definitions));
    assert.equal((await from.topics(["export"])).output, toNdjson(...definitions));
    const one = await from.topics(["export", "--external-id", "topic-0003"]);
    assert.equal(one.output, toNdjson(definitions[3] ?? {}));
    assert.equal((await to.topics(["import", "-"], readFileSync(exported, "utf8"))).code, 0);
    assert.equal((await to.topics(["export"])).output, toNdjson(...definitions));
    assert.equal(existsSync(`${exported}.part`), false);
    assert.equal((await from.topics(["export", "--out", join(folder.path, "no", "such")])).code, 1);
  });

  it("reject duplicates with the reason, and import the rest", async () => {
    const bodies = [
      { externalId: "new-1", name: "new", namespace: null },
      { externalId: "topic-0001", name: "name 1", namespace: "even", headerQuery: "eventType=A" },
      { ...definitions[2], externalId: "thief" },
      definitions[3] ?? {},
    ];
    const path = createFile(toNdjson(...bodies));
    const expected = [
      [`${path}:2`, "topic-0001", "DUPLICATE_EXTERNAL_ID", /a different namespace, contentQuery/],
      [`${path}:3`, "thief", "DUPLICATE_COMBINATION", /those of the topic "topic-0002"/],
    ] as const;
    for (const args of [["--dry-run"], []]) {
      const count = await to.stored.countDocuments();
      const { code, output, errors } = await to.topics(["import", "--json", ...args, path]);
      assert.equal(code, 3, errors);
      const { created, unchanged, rejected } = JSON.parse(output) as {
        created: number;
        unchanged: number;
        rejected: { place: string; externalId: string; code: string; message: string }[];
      };
      assert.deepEqual([created, unchanged, rejected.length], [1, 1, 2]);
      for (const [index, [where, externalId, reason, message]] of expected.entries()) {
        const one = rejected[index];
        assert.deepEqual([one?.place, one?.externalId, one?.code], [where, externalId, reason]);
        assert.match(one?.message ?? "", message);
      }
      assert.equal(await to.stored.countDocuments(), count + (args.length > 0 ? 0 : 1));
    }
    const table = await to.topics(["import", path]);
    assert.match(table.output, /0 created, 2 unchanged, 2 rejected[^]*:3.*thief.*DUPLICATE_COMBINATION/);
  });

  it("import nothing if definitions exclude each other", async () => {
    const count = await to.stored.countDocuments();
    const bodies = [
      { externalId: "x", name: "n", namespace: null },
      { externalId: "x", name: "other" },
      { externalId: "y", name: "n", namespace: "" },
    ];
    const { code, errors } = await to.topics(["import", createFile(toNdjson(...bodies))]);
    assert.equal(code, 3);
    assert.match(
      errors,
      /:2: has the same external id as .*:1\n.*:3: has the same name, namespace and filters as .*:1\nNothing was imported/,
    );
    assert.equal(await to.stored.countDocuments(), count);
  });

  it("import nothing if a definition is invalid, and report each", async () => {
    const count = await to.stored.countDocuments();
    const path = createFile(
      '{"name":"fine","externalId":"fine"}\n{"name":"n"}\n{"name":"n","externalId":"e","headerQuery":"a"}\n',
    );
    const { code, errors } = await to.topics(["import", path]);
    assert.equal(code, 3);
    assert.match(errors, /:2: .*\/externalId is required[^]*:3: .*headerQuery[^]*Nothing was imported/);
    assert.equal(await to.stored.countDocuments(), count);
  });
});
