import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";

import { topicApplySchema, topicPlanReportSchema, topicPlanSchema } from "../../../schemas/topic-plan.ts";
import { createValidator } from "../../../src/lib/validation.ts";
import type { TopicRecord } from "../../../src/storage/topic-records.ts";
import { entry, toActions, toFile, useTopicFiles } from "../../support/topic-files.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const createScene = useTopicFiles();
const names = (count: number, prefix = "t"): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe("pruning", () => {
  it("needs --prune, and --max-deletes for more than 10 topics or 10 %", async () => {
    const { write, apply, plan, run, root, stored } = createScene();
    write({ "a.yaml": toFile(names(120).map((id) => entry(id))) });
    await apply();
    write({ "a.yaml": toFile(names(107).map((id) => entry(id))) });
    const listed = await plan();
    assert.deepEqual(listed.plan.changes, []);
    assert.equal(listed.orphaned.length, 13);
    const { code, errors } = await run("apply", root, "--yes", "--prune", "--origin", "here");
    assert.equal(code, 3);
    assert.match(
      errors,
      /would disable 13 of the 120 topics of the set, and at most 12 are allowed.*--max-deletes 13/,
    );
    await plan(["--prune", "--max-deletes", "10%"], 3).catch(() => undefined);
    assert.equal(await stored.countDocuments(), 120);
    await apply(["--prune", "--max-deletes", "13"]);
    assert.equal(await stored.countDocuments(), 107);
  });

  it("disables nothing if files are missing, empty or invalid", async () => {
    const { write, apply, run, at, root, stored } = createScene();
    write({ "a.yaml": toFile([entry("one"), entry("two")]) });
    await apply();
    write({
      "empty/readme.md": "",
      "broken/a.yaml": "set: noc\ntopics: [",
      "none/a.yaml": "set: noc\ntopics: []\n",
    });
    write({ "blank/a.yaml": "" });
    for (const [path, reason] of [
      [at("empty"), /has no files/],
      [at("broken"), /broken\/a\.yaml:2:10: /],
      [at("nothing"), /cannot be read: ENOENT/],
      [at("*.yaml"), /cannot be read: ENOENT/],
      [at("blank"), /is empty/],
      [at("none"), /--allow-empty/],
    ] as const) {
      const { code, errors } = await run("apply", path, "--yes", "--prune", "--origin", "here");
      assert.equal(code, 3, `${path}: ${errors}`);
      assert.match(errors, reason);
    }
    assert.equal(await stored.countDocuments(), 2);
    const { code, errors } = await run(
      "apply",
      at("none"),
      at("a.yaml"),
      "--yes",
      "--prune",
      "--origin",
      "here",
    );
    assert.equal(code, 0, errors);
    write({ "a.yaml": toFile([]) });
    const emptied = await run("apply", at("a.yaml"), "--yes", "--prune", "--allow-empty", "--origin", "here");
    assert.equal(emptied.code, 0, emptied.errors + root);
    assert.equal(await stored.countDocuments(), 0);
  });

  it("leaves topics of files that were not read", async () => {
    const { write, apply, run, at, stored } = createScene();
    write({ "a.yaml": toFile([entry("a1"), entry("a2")]), "b.yaml": toFile([entry("b1")]) });
    await apply();
    write({ "a.yaml": toFile([entry("a1")]) });
    const { code, output } = await run("apply", at("a.yaml"), "--yes", "--prune", "--origin", "here");
    assert.equal(code, 0);
    assert.match(output, /b1: from .*b\.yaml, which was not read/);
    const left = await stored.find({}, { sort: { topic_id: 1 } }).toArray();
    assert.deepEqual(
      left.map(({ topic_id }) => topic_id),
      ["a1", "b1"],
    );
  });

  it("spares protected topics, and can be undone", async () => {
    const { write, apply, plan, run, stored } = createScene();
    write({ "a.yaml": toFile([entry("one", { protected: true }), entry("two")]) });
    await apply();
    const id = (await stored.findOne({ topic_id: "one" }))?._id;
    write({ "a.yaml": toFile([entry("two")]) });
    const { blocked } = await plan(["--prune", "--max-deletes", "100%"], 3);
    assert.deepEqual(
      blocked.map(({ externalId, code }) => [externalId, code]),
      [["one", "PROTECTED"]],
    );
    await apply(["--prune", "--max-deletes", "100%"], 3);
    write({ "a.yaml": toFile([entry("one"), entry("two")]) });
    await apply();
    write({ "a.yaml": toFile([entry("two")]) });
    await apply(["--prune"]);
    assert.equal(await stored.findOne({ topic_id: "one" }), null);
    assert.equal((await run("enable", "one")).code, 0);
    assert.equal((await stored.findOne({ topic_id: "one" }))?._id, id);
  });

  it("disables topics that become drafts", async () => {
    const { write, apply, plan, stored } = createScene();
    write({ "a.yaml": toFile([entry("one"), entry("two", { lifecycle: "draft" })]) });
    await apply();
    assert.equal(await stored.countDocuments(), 1);
    write({ "a.yaml": toFile([entry("one", { lifecycle: "draft" }), entry("two")]) });
    assert.deepEqual(toActions(await plan()), { one: "disable", two: "create" });
  });
});

describe("the owner of a topic", () => {
  it("is one set, which another one takes over in one step", async () => {
    const { write, apply, plan, run, at, stored, details } = createScene();
    write({ "a.yaml": toFile([entry("one"), entry("two")]) });
    await apply();
    const id = (await stored.findOne({ topic_id: "one" }))?._id;
    write({ "a.yaml": toFile([entry("one", { contentQuery: "a=1" })], { set: "other" }) });
    const { blocked } = await plan([], 3);
    assert.deepEqual(
      blocked.map(({ code }) => code),
      ["OWNED_BY_SET"],
    );
    assert.match(blocked[0]?.message ?? "", /belongs to the set "noc"/);
    assert.equal((await apply(["--skip-blocked"])).code, 0);
    await apply(["--prune", "--take-over", "noc"]);
    const taken = await stored.findOne({ topic_id: "one" });
    assert.deepEqual([taken?._id, taken?.content_query], [id, "a=1"]);
    assert.equal((await details.findOne({ _id: "one" }))?.set, "other");
    assert.equal((await details.findOne({ _id: "two" }))?.set, "noc");
    const foreign = await run("plan", at("a.yaml"), "--set", "noc");
    assert.match(foreign.errors, /a\.yaml:\d+:\d+: the set is "other", but "noc" at --set/);
  });

  it("is nobody until the topic is adopted", async () => {
    const { write, plan, apply, run, stored, details } = createScene();
    await stored.insertOne(createTopicRecord({ externalId: "one" }));
    write({ "a.yaml": toFile([entry("one", { name: "name of one", namespace: "space" })]) });
    assert.deepEqual(
      (await plan([], 3)).blocked.map(({ code }) => code),
      ["NOT_IN_SET"],
    );
    assert.equal((await run("adopt", "--set", "noc", "one")).code, 0);
    assert.equal((await details.findOne({ _id: "one" }))?.set, "noc");
    assert.deepEqual(toActions(await plan()), { one: "describe" });
    await apply();
    assert.equal((await run("release", "one")).code, 0);
    assert.equal((await details.findOne({ _id: "one" }))?.set, undefined);
    assert.equal((await run("adopt", "--set", "noc", "nothing")).code, 3);
  });

  it("is a set of one repository", async () => {
    const { write, apply, run, root } = createScene();
    write({ "a.yaml": toFile([entry("one")]) });
    await apply();
    const { code, errors } = await run("plan", root, "--origin", "elsewhere");
    assert.equal(code, 3);
    assert.match(errors, /"noc" is applied from here, and these files are from elsewhere/);
  });

  it("is the channel for an announced topic", async () => {
    const { write, plan, apply, stored, details } = createScene();
    const source = { kind: "announcement" as const, topic: "channel", partition: 2, offset: 17 };
    const announced = (externalId: string): TopicRecord => ({ ...createTopicRecord({ externalId }), source });
    await stored.insertMany([announced("same"), announced("other"), announced("described")]);
    write({
      "a.yaml": toFile([
        entry("same", { namespace: "space", owner: "noc" }),
        entry("other", { contentQuery: "a=1" }),
        { externalId: "described", owner: "ran" },
        { externalId: "unknown", owner: "ran" },
      ]),
    });
    const { blocked } = await plan(["--adopt"], 3);
    assert.deepEqual(
      new Map(blocked.map(({ externalId, code }) => [externalId, code])),
      new Map([
        ["other", "EXTERNAL_ID_TAKEN"],
        ["unknown", "UNKNOWN_TOPIC"],
      ]),
    );
    assert.match(blocked.find(({ externalId }) => externalId === "other")?.message ?? "", /channel-2-17/);
    const before = await stored.find({}).toArray();
    await apply(["--skip-blocked"]);
    assert.deepEqual(await stored.find({}).toArray(), before);
    assert.equal((await details.findOne({ _id: "described" }))?.set, "noc");
    write({ "a.yaml": toFile([], { set: "noc" }) });
    assert.deepEqual(toActions(await plan(["--prune", "--allow-empty"])), {
      same: "release",
      described: "release",
    });
  });
});

describe("renaming", () => {
  it("keeps the sys_id, and is suggested", async () => {
    const { write, apply, plan, db, stored, details } = createScene();
    write({ "a.yaml": toFile([entry("old", { owner: "noc" })]) });
    await apply();
    const id = (await stored.findOne({ topic_id: "old" }))?._id;
    write({ "a.yaml": toFile([entry("new", { name: "name of old" })]) });
    const { blocked } = await plan([], 3);
    assert.match(
      blocked[0]?.message ?? "",
      /are those of "old"; if it is the same topic, add `renamedFrom: old`/,
    );
    const pruned = await plan(["--prune"]);
    assert.match(
      pruned.plan.changes.find(({ action }) => action === "create")?.notes[0] ?? "",
      /`renamedFrom: old` keeps/,
    );
    const usage = db.collection<{ _id: string; days: object }>("topicsync_topic_usage");
    await usage.insertOne({ _id: "old", days: {} });
    write({ "a.yaml": toFile([entry("new", { renamedFrom: "old", owner: "noc" })]) });
    assert.deepEqual(toActions(await plan(["--prune"])), { old: "rename" });
    await apply(["--prune"]);
    assert.equal((await stored.findOne({ topic_id: "new" }))?._id, id);
    for (const all of [details, usage]) assert.deepEqual(await all.distinct("_id"), ["new"]);
    await plan(["--fail-on-changes"]);
  });
});

describe("a plan file", () => {
  it("is for one database, and cannot be edited", async () => {
    const { write, planTo, run, readAll } = createScene();
    write({ "a.yaml": toFile([entry("one")]) });
    const file = await planTo();
    const text = readFileSync(file, "utf8");
    const other = createScene();
    assert.equal((await other.run("list")).code, 0);
    const foreign = await other.run("apply", file);
    assert.equal(foreign.code, 3);
    assert.match(foreign.errors, /for another database/);
    const before = await readAll();
    for (const [damaged, reason] of [
      [text.replaceAll("name of one", "name of two"), /was changed since it was written/],
      [text.slice(0, -20), /not a plan/],
      [text.replace("topicsync-plan/1", "topicsync-plan/2"), /not a plan of the format topicsync-plan\/1/],
      [text.replace('"expects": null', '"expects": 1'), /The plan is damaged/],
      ["", /not a plan/],
    ] as const) {
      writeFileSync(file, damaged);
      const { code, errors } = await run("apply", file);
      assert.equal(code, 3);
      assert.match(errors, reason);
    }
    assert.deepEqual(await readAll(), before);
    assert.equal((await run("apply", file, file)).code, 3);
  });

  it("and the reports have their published schemas", async () => {
    const { write, plan, planTo, run, stored } = createScene();
    await stored.insertOne(createTopicRecord({ externalId: "taken" }));
    write({
      "a.yaml": toFile([
        entry("one", {
          contentQuery: "a=1",
          tags: ["x"],
          labels: { a: "1" },
          sunset: "2030-01-01",
          consumers: [{ name: "c" }],
        }),
        entry("taken"),
      ]),
    });
    const isValid = (schema: object, value: unknown): void => {
      const checked = createValidator<unknown>(schema)(value);
      assert.ok(checked.ok, JSON.stringify(checked));
    };
    isValid(topicPlanReportSchema, await plan([], 3));
    const file = await planTo("--skip-blocked");
    isValid(topicPlanSchema, JSON.parse(readFileSync(file, "utf8")));
    isValid(topicApplySchema, JSON.parse((await run("apply", file, "--json")).output));
  });
});

describe("drift", () => {
  it("is what something else than the set has changed", async () => {
    const { write, apply, run, stored } = createScene();
    write({ "a.yaml": toFile([entry("one"), entry("two"), entry("three")]) });
    await apply();
    assert.equal((await run("drift", "--fail-on-drift")).code, 0);
    const source = { kind: "http" as const, user: "mallory" };
    await stored.updateOne({ topic_id: "two" }, { $set: { content_query: "x=1", version: 2, source } });
    await stored.deleteOne({ topic_id: "three" });
    const { code, output } = await run("drift", "--fail-on-drift");
    assert.equal(code, 2);
    assert.match(output, /^two \(noc, .*a\.yaml\): was changed by "mallory" at /m);
    assert.match(output, /^three \(noc, .*a\.yaml\): is not active any more/m);
    assert.doesNotMatch(output, /one/);
    const renaming = ["change", "one", "--if-version", "1", "--rename-to", "other", "--force"];
    assert.equal((await run(...renaming)).code, 0);
    assert.match((await run("drift")).output, /^other \(noc, .*\): was renamed: its file has .* "one"$/m);
    await run("change", "other", "--if-version", "2", "--rename-to", "one", "--force");
    await apply();
    assert.equal((await run("drift", "--fail-on-drift")).code, 0);
    assert.match((await run("sets")).output, /noc\s+here\s+20\d\d-.* cli:/);
  });
});
