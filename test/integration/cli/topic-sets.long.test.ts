import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";

import { createValidator } from "@topicsync/lib/validation";
import { topicApplySchema, topicPlanReportSchema, topicPlanSchema } from "../../../schemas/topics/plan.ts";
import { entry, toFile, useTopicFiles } from "../../support/topic-files.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const createScene = useTopicFiles();
const names = (count: number, prefix = "t"): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe("pruning", () => {
  it("needs --prune, and --max-deletes for many topics", async () => {
    const { write, apply, run, root, at, stored } = createScene();
    write({ "a.yaml": toFile(names(12).map((id) => entry(id))), "b.yaml": toFile([entry("other")]) });
    await apply();
    write({ "a.yaml": toFile([entry("t0")]), "none/a.yaml": toFile([]) });
    assert.match(
      (await run("plan", root, "--origin", "here")).output,
      /^ {2}t1: not in the files any more .*--prune disables it$/m,
    );
    const { code, errors } = await run("apply", root, "--yes", "--prune", "--origin", "here");
    assert.equal(code, 3);
    assert.match(errors, /would disable 11 of the 13 topics of the set.*--max-deletes 11/);
    await apply(["--prune", "--max-deletes", "50%"], 3);
    assert.equal(await stored.countDocuments(), 13);
    const some = ["apply", at("a.yaml"), "--yes", "--prune", "--origin", "here", "--max-deletes"];
    const pruned = await run(...some, "11");
    assert.equal(pruned.code, 0, pruned.errors);
    assert.match(pruned.output, /other: from .*b\.yaml, which was not read/);
    assert.equal(await stored.countDocuments(), 2);
    const none = ["apply", at("none"), "--yes", "--prune", "--origin", "here"];
    assert.match((await run(...none)).errors, /--allow-empty/);
    assert.equal((await run(...none, "--allow-empty")).code, 0);
  });

  it("disables nothing if a file is invalid", async () => {
    const { write, apply, run, root, stored } = createScene();
    write({ "a.yaml": toFile([entry("one"), entry("two")]) });
    await apply();
    write({ "a.yaml": toFile([entry("one")]), "broken/a.yaml": "set: noc\ntopics: [" });
    const { code, errors } = await run("apply", root, "--yes", "--prune", "--origin", "here");
    assert.equal(code, 3, errors);
    assert.match(errors, /broken\/a\.yaml:2:10: [^]*Nothing was planned/);
    assert.equal(await stored.countDocuments(), 2);
  });
});

describe("the owner of a topic", () => {
  it("is another set or nobody unless that is said, and the files have one origin", async () => {
    const { write, apply, plan, run, root, at, stored, details } = createScene();
    await stored.insertOne(createTopicRecord({ externalId: "free" }));
    write({ "a.yaml": toFile([entry("one"), entry("free")]) });
    const { blocked } = await plan([], 3);
    assert.deepEqual(
      blocked.map(({ externalId, code }) => [externalId, code]),
      [["free", "NOT_IN_SET"]],
    );
    await apply([], 3);
    await apply(["--skip-blocked"]);
    assert.equal((await details.findOne({ _id: "free" }))?.set, undefined);
    await apply(["--adopt"]);
    const foreign = await run("plan", root, "--origin", "elsewhere");
    assert.equal(foreign.code, 3);
    assert.match(foreign.errors, /"noc" is applied from here, and these files are from elsewhere/);
    const { _id } = (await stored.findOne({ topic_id: "one" })) ?? {};
    write({ "a.yaml": toFile([entry("one", { contentQuery: "a=1" })], { set: "other" }) });
    await plan([], 3);
    await apply(["--prune", "--take-over", "noc"]);
    const taken = await stored.findOne({ topic_id: "one" });
    assert.deepEqual([taken?._id, taken?.content_query], [_id, "a=1"]);
    assert.equal((await details.findOne({ _id: "one" }))?.set, "other");
    assert.equal((await details.findOne({ _id: "free" }))?.set, "noc");
    const named = await run("plan", at("a.yaml"), "--set", "noc");
    assert.match(named.errors, /a\.yaml:\d+:\d+: the set is "other", but "noc" at --set/);
  });

  it("is changed without files as well", async () => {
    const { run, stored, details } = createScene();
    await stored.insertOne(createTopicRecord({ externalId: "one" }));
    assert.equal((await run("adopt", "--set", "noc", "one")).code, 0);
    assert.equal((await details.findOne({ _id: "one" }))?.set, "noc");
    assert.match((await run("adopt", "--set", "other", "one")).errors, /belongs to the set "noc"/);
    assert.equal((await run("release", "one")).code, 0);
    assert.equal((await details.findOne({ _id: "one" }))?.set, undefined);
    assert.equal((await run("adopt", "--set", "noc", "nothing")).code, 3);
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
    writeFileSync(file, text.replaceAll("name of one", "name of two"));
    const edited = await run("apply", file);
    assert.equal(edited.code, 3);
    assert.match(edited.errors, /was changed since it was written/);
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
    write({ "a.yaml": toFile([entry("one"), entry("two")]) });
    await apply();
    assert.equal((await run("plan", "--drift", "--fail-on-changes")).code, 0);
    assert.equal((await run("plan")).code, 64);
    assert.equal((await run("plan", "--drift", "--prune")).code, 64);
    const source = { kind: "http" as const, user: "mallory" };
    await stored.updateOne({ topic_id: "two" }, { $set: { content_query: "x=1", version: 2, source } });
    const { code, output, errors } = await run("plan", "--drift", "--fail-on-changes");
    assert.equal(code, 2);
    assert.match(output, /^two \(noc, .*a\.yaml\): was changed by "mallory" at /);
    assert.equal(errors, "1 drifted\n");
    const [line] = (await run("plan", "--drift", "--set", "noc", "--json")).output.split("\n");
    assert.partialDeepStrictEqual(JSON.parse(line ?? ""), { externalId: "two", applied: 1, version: 2 });
    assert.match((await run("sets")).output, /noc │ here +│ 20\d\d-.* cli:/);
  });
});
