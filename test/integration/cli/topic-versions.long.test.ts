/** `topicsync topics change | history | diff | restore`, and topics as they were. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { useFolder } from "../../support/folder.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { until } from "../../support/poll.ts";
import { runCli, runJson } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const me = `cli:${userInfo().username}`;
const folder = useFolder();
const { uri } = testDatabase(sharedStack().mongodb);
const settings = { MONGODB_URI: uri };

const topics = (...args: readonly string[]) => runCli(["topics", ...args], settings);
const json = async (...args: readonly string[]) =>
  (await runJson(["topics", ...args], settings)) as Record<string, unknown>;
async function lines(...args: readonly string[]): Promise<Record<string, unknown>[]> {
  const { code, output, errors } = await topics(...args, "--json");
  assert.equal(code, 0, errors);
  return parseNdjson(output) as Record<string, unknown>[];
}
const add = (id: string, ...more: readonly string[]) =>
  json("add", "--external-id", id, "--name", id, ...more);
const change = (id: string, version: number, ...more: readonly string[]) =>
  json("change", id, "--if-version", String(version), ...more);

describe("topicsync topics change", () => {
  it("changes and renames what its options name, and nothing else", async () => {
    await add("net", "--namespace", "space", "--content-query", "a=1");
    const changed = await change("net", 1, "--content-query", "a=1,2");
    assert.deepEqual(
      [changed["version"], changed["name"], changed["namespace"], changed["contentQuery"], changed["source"]],
      [2, "net", "space", "a=1,2", { kind: "http", user: me }],
    );
    const { output } = await topics("change", "net", "--if-version", "2", "--namespace", "");
    assert.equal(output, "changed net (net), version 3\n");
    const renamed = await change("net", 3, "--rename-to", "new-id");
    assert.deepEqual([renamed["externalId"], renamed["version"]], ["new-id", 4]);
  });

  it("exits with 3 for another version, and says who changed the topic", async () => {
    await add("moved");
    await change("moved", 1, "--name", "moved 2");
    const { code, errors } = await topics("change", "moved", "--if-version", "1", "--name", "other");
    assert.equal(code, 3);
    assert.match(errors, new RegExp(`has the version 2, not 1: the user "${me}" changed it at 20`));
  });

  it("rejects wrong usage and invalid definitions", async () => {
    await add("kept");
    for (const args of [
      ["--if-version", "1"],
      ["--if-version", "0", "--name", "x"],
    ])
      assert.equal((await topics("change", "kept", ...args)).code, 64, args.join(" "));
    assert.equal((await topics("change", "kept", "--if-version", "1", "--content-query", "a=*")).code, 3);
    assert.equal((await topics("change", "nothing", "--if-version", "1", "--name", "x")).code, 1);
    const unsaid = await topics("change", "kept", "--name", "x");
    assert.deepEqual([unsaid.code, /--if-version 1\./.test(unsaid.errors)], [3, true], unsaid.errors);
  });
});

describe("the versions of a topic", () => {
  it("are listed, compared and restored", async () => {
    const { id } = await add("hist", "--content-query", "severity=Critical");
    await change("hist", 1, "--content-query", "severity=Critical,Major");
    await change("hist", 2, "--name", "renamed history");
    const versions = await lines("history", "hist");
    assert.deepEqual(
      versions.map((one) => [one["version"], one["contentQuery"], one["endedAs"]]),
      [
        [3, "severity=Critical,Major", undefined],
        [2, "severity=Critical,Major", "changed"],
        [1, "severity=Critical", "changed"],
      ],
    );
    const table = await topics("history", "hist", "--limit", "2");
    assert.match(
      table.output,
      /^version +external id +name.*\n3 +hist +renamed history.*\n2 +hist.*changed at /,
    );
    assert.match(table.errors, /Only the last 2 versions are shown/);

    const diff = await topics("diff", "hist", "--from", "1", "--to", "2");
    assert.match(
      diff.output,
      /^hist +version 1 → 2 .*\n +contentQuery\n +- severity=Critical\n +\+ severity=Critical,Major\n +widened: /,
    );
    const { differences, events } = await json("diff", "hist");
    assert.deepEqual(
      [differences, events],
      [[{ member: "name", from: "hist", to: "renamed history" }], "same"],
    );

    assert.match(
      (await topics("show", "hist", "--version", "1")).output,
      /\nreplaced +changed by cli:.*\nversion +1\n/,
    );
    assert.equal((await topics("restore", "hist", "--version", "1", "--if-version", "2")).code, 3);
    const restored = await json("restore", "hist", "--version", "1", "--if-version", "3");
    assert.deepEqual(
      [restored["id"], restored["version"], restored["name"], restored["contentQuery"]],
      [id, 4, "hist", "severity=Critical"],
    );
    assert.equal((await topics("restore", "hist", "--version", "9")).code, 1);
    assert.equal((await topics("diff", "hist", "--from", "9")).code, 1);
    assert.equal((await topics("history", "nothing")).code, 1);
  });

  it("are listed with those of the details", async () => {
    await add("described");
    await topics("describe", "described", "--owner", "team-noc", "--tag", "p1");
    await topics("describe", "described", "--owner", "team-ran");
    const at = new Date().toISOString();
    await topics("describe", "described", "--owner", "");
    const versions = await lines("history", "described");
    assert.deepEqual(
      versions.map(({ action, version, changes }) => [action, version, changes]),
      [
        ["described", 3, [{ member: "owner", from: "team-ran", to: "" }]],
        ["described", 2, [{ member: "owner", from: "team-noc", to: "team-ran" }]],
        [
          ...["described", 1],
          [
            { member: "owner", from: "", to: "team-noc" },
            { member: "tags", from: [], to: ["p1"] },
          ],
        ],
        [undefined, 1, undefined],
      ],
    );
    const { output } = await topics("history", "described");
    assert.match(output, /\ndetails 3 +described +\(owner\) +.*\n.*\ndetails 1 +described +\(owner, tags\) /);
    const { details } = (await json("show", "described", "--at", at)) as { details: { owner: string } };
    assert.equal(details.owner, "team-ran");
    const out = join(folder.path, "files");
    await topics("export", "--format", "yaml", "--out", out, "--at", at);
    assert.match(
      readFileSync(join(out, "topics.yaml"), "utf8"),
      /externalId: described\n +name: described\n +owner: team-ran\n/,
    );
  });
});

describe("topics as they were", () => {
  it("are shown, exported and explained", async () => {
    const value = unique("value");
    await add("past", "--content-query", `value=${value}`);
    await add("stays", "--content-query", `value=${value}`);
    const exported = (await topics("export")).output;
    const at = new Date().toISOString();
    await until("the clock has moved on", () => new Date().toISOString() > at);
    await change("past", 1, "--content-query", "value=other");
    await topics("disable", "stays");

    assert.equal((await topics("export", "--at", at)).output, exported);
    assert.notEqual((await topics("export")).output, exported);
    const shown = await json("show", "past", "--at", at);
    assert.deepEqual([shown["version"], shown["contentQuery"]], [1, `value=${value}`]);

    const event = folder.createFile("event.json", JSON.stringify({ event: { value } }));
    const pick = (...args: readonly string[]) => runCli(["pick", event, ...args], settings);
    assert.doesNotMatch((await pick()).output, /^(?:past|stays)\b/m);
    const then = await pick("--at", at);
    assert.match(then.output, /^past +past +1 *\nstays +stays +1 *$/m, then.errors);
    const explained = await pick("--at", at, "--explain", "past");
    assert.match(explained.output, /The event matches past version 1:/);
    assert.match((await pick("--explain", "past")).output, /The event does not match past:/);
    const early = await pick("--at", "2020-01-01T00:00:00Z", "--explain", "past");
    assert.match(early.errors, /There is no topic with the external id "past" at 2020-01-01/);
  });

  it("need a time", async () => {
    for (const args of [
      ["show", "a", "--at", "yesterday"],
      ["export", "--at", "2026-02-31T00:00:00Z"],
    ])
      assert.equal((await topics(...args)).code, 64, args.join(" "));
    for (const other of [
      ["state", "disabled"],
      ["owner", "noc"],
    ]) {
      const args = ["export", "--at", "2026-02-01T00:00:00Z", `--${other[0]}`, other[1] ?? ""];
      const { code, errors } = await topics(...args);
      assert.deepEqual(
        [code, /\/at cannot be combined with (?:state|owner)/.test(errors)],
        [3, true],
        errors,
      );
    }
    const both = await topics("show", "a", "--at", "2026-02-01T00:00:00Z", "--version", "1");
    assert.deepEqual([both.code, /\/at cannot be combined with version/.test(both.errors)], [3, true]);
  });
});
