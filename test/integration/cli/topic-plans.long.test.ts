import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { until } from "../../support/poll.ts";
import { entry, toActions, toFile, useTopicFiles } from "../../support/topic-files.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const createScene = useTopicFiles();

const parseResult = (output: string): Record<string, unknown> =>
  JSON.parse(output) as Record<string, unknown>;

describe("topics plan and apply", () => {
  it("create, change, describe and disable topics as the files say", async () => {
    const { write, plan, apply, stored, details } = createScene();
    write({
      "a.yaml": toFile([entry("one"), entry("two", { owner: "noc" })]),
      "sub/b.ndjson": `${JSON.stringify(entry("three", { contentQuery: "a=1" }))}\n`,
    });
    assert.deepEqual(toActions(await plan()), { one: "create", two: "create", three: "create" });
    assert.equal(await stored.countDocuments(), 0);
    assert.equal(await details.countDocuments(), 0);
    await apply();
    assert.equal((await plan(["--fail-on-changes"])).unchanged, 3);

    write({
      "a.yaml": toFile([entry("one", { headerQuery: "eventType=A" })]),
      "sub/b.ndjson": `${JSON.stringify(entry("three", { contentQuery: "a=1,%31", tags: ["x"] }))}\n`,
    });
    const changed = await plan(["--prune", "--fail-on-changes"], 2);
    assert.deepEqual(toActions(changed), { one: "change", three: "change", two: "disable" });
    assert.deepEqual(
      Object.fromEntries(changed.plan.changes.map(({ externalId, effect }) => [externalId, effect])),
      { one: "narrowed", three: "same", two: undefined },
    );
    await apply(["--prune"]);
    assert.equal((await plan(["--fail-on-changes"])).unchanged, 2);
    assert.equal((await stored.findOne({ topic_id: "one" }))?.header_query, "eventType=A");
    assert.equal(await stored.findOne({ topic_id: "two" }), null);
  });

  it("find no changes in what was exported, whatever its texts", async () => {
    const { root, run, plan, apply, stored } = createScene();
    const texts = [
      " a ",
      "x: y",
      "# no comment",
      "%41%2C",
      "é\u{1F600}",
      "- a",
      "null",
      "4711",
      "'\"",
      "a\nb",
      "{a}",
    ];
    const records = Array.from({ length: 6 * texts.length }, (_, at): TopicRecord => {
      const text = texts[at % texts.length] ?? "";
      return {
        ...createTopicRecord({
          externalId: `${text}${at}`,
          contentQuery: at % 2 === 0 ? "" : `a.eq=${at} %20`,
        }),
        topic_name: `${text} ${at}${text}`,
        namespace: at % 3 === 0 ? "" : `space/${text}`,
      };
    });
    await stored.insertMany(records);
    const exported = await run("export", "--format", "yaml", "--out", root);
    assert.equal(exported.code, 0, exported.errors);
    const { plan: adoption, unchanged } = await plan(["--set", "noc", "--adopt"]);
    assert.equal(unchanged, 0);
    assert.equal(adoption.changes.length, records.length);
    for (const { action, before, after } of adoption.changes) {
      assert.equal(action, "adopt");
      assert.deepEqual(
        { ...after, set: undefined, path: undefined },
        { ...before, set: undefined, path: undefined },
      );
    }
    await apply(["--set", "noc", "--adopt"]);
    await plan(["--set", "noc", "--fail-on-changes"]);
    const found = await stored.find({}).toArray();
    assert.ok(
      found.every((record) => (record.version ?? 1) === 1),
      "a topic was changed",
    );
  });

  it("restore a set as it was, from files that were exported", async () => {
    const { write, apply, plan, run, root, remove, stored } = createScene();
    write({ "a.yaml": toFile([entry("one", { owner: "noc" }), entry("two"), entry("three")]) });
    await apply();
    await stored.insertOne(createTopicRecord({ externalId: "foreign" }));
    const readNames = async () =>
      (await stored.find({}, { sort: { topic_id: 1 } }).toArray()).map((one) => one.topic_name);
    const names = await readNames();
    const at = new Date().toISOString();
    await until("the clock has moved on", () => new Date().toISOString() > at);
    write({
      "a.yaml": toFile([
        entry("one", { owner: "noc", name: "other" }),
        entry("three", { name: "name of two" }),
      ]),
    });
    await apply(["--prune"]);
    remove("a.yaml");
    const past = ["export", "--format", "yaml", "--at", at, "--set", "noc", "--out", root];
    const exported = await run(...past);
    assert.equal(exported.code, 0, exported.errors);
    assert.deepEqual(toActions(await plan()), { one: "change", three: "change", two: "create" });
    await apply();
    assert.deepEqual(await readNames(), names);
  });

  it("reject a stale plan, and say who changed the topic; a plan may be applied again", async () => {
    const { write, apply, planTo, run, stored, readAll } = createScene();
    write({ "a.yaml": toFile([entry("one"), entry("gone")]), "b.yaml": toFile([entry("old")]) });
    await apply();
    write({
      "a.yaml": toFile([entry("one", { contentQuery: "a=1", owner: "x" }), entry("new")]),
      "b.yaml": toFile([entry("young", { name: "name of old", renamedFrom: "old" })]),
    });
    const file = await planTo("--prune");
    const source = { kind: "http" as const, user: "mallory" };
    const one = await stored.findOneAndUpdate({ topic_id: "one" }, { $set: { version: 2, source } });
    assert.ok(one !== null);
    const before = await readAll();
    const { code, errors } = await run("apply", file);
    assert.equal(code, 3, errors);
    assert.match(errors, /"one" has version 2, not 1: the user "mallory" changed it at 20/);
    assert.deepEqual(await readAll(), before);
    await stored.replaceOne({ topic_id: "one" }, one);

    const id = (await stored.findOne({ topic_id: "old" }))?._id;
    const first = await run("apply", file, "--json");
    const result = parseResult(first.output);
    assert.deepEqual(result, { ...result, set: "noc", applied: 4, unchanged: 0 });
    assert.equal((await stored.findOne({ topic_id: "young" }))?._id, id);
    const after = await readAll();
    const second = await run("apply", file, "--json");
    assert.deepEqual(parseResult(second.output), { ...result, applied: 0, unchanged: 4 });
    assert.deepEqual(await readAll(), after);
  });
});
