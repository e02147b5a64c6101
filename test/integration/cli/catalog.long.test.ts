import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { newId } from "@topicsync/lib/sys-id";
import { runCli, runJson } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const settings = { MONGODB_URI: uri };
const run = (...args: string[]) => runCli(args, settings);
const readJson = (...args: string[]) => runJson(args, settings);

const installation = (application: string, platform: string, active: boolean) => ({
  _id: newId() as never,
  token: newId(),
  application,
  platform,
  user: "ann",
  active,
});

for (const catalog of ["applications", "platforms"]) {
  const one = catalog.slice(0, -1);
  const noRule = catalog === "platforms" ? { tokenRule: null } : {};

  describe(`topicsync ${catalog}`, () => {
    it("explains how to add the first one", async () => {
      const { code, output } = await run(catalog, "list");
      assert.equal(code, 0);
      assert.match(output, new RegExp(`${catalog} add NAME`));
      assert.deepEqual(await readJson(catalog, "list"), { [catalog]: [] });
    });

    it("adds them, and exits with 3 for a name that is taken", async () => {
      const first = await run(catalog, "add", "b name");
      assert.deepEqual([first.code, first.output], [0, "added b name\n"], first.errors);
      assert.equal((await run(catalog, "add", "a name")).code, 0);
      assert.deepEqual(await readJson(catalog, "add", "c name"), { name: "c name", active: true, ...noRule });
      const again = await run(catalog, "add", "a name");
      assert.deepEqual([again.code, /"a name" is already in use/.test(again.errors)], [3, true]);
      assert.deepEqual(await readJson(catalog, "list"), {
        [catalog]: ["a name", "b name", "c name"].map((name) => ({ name, active: true, ...noRule })),
      });
    });

    it("disables and enables", async () => {
      assert.deepEqual(await readJson(catalog, "disable", "a name"), {
        name: "a name",
        active: false,
        ...noRule,
      });
      assert.match((await run(catalog, "list")).output, /a name +│ no/);
      assert.equal((await run(catalog, "disable", "a name")).code, 0, "also when it is disabled");
      assert.equal((await run(catalog, "enable", "a name")).output, "enabled a name\n");
      assert.match((await run(catalog, "list")).output, /a name +│ yes/);
    });

    it("rejects an unknown name", async () => {
      for (const verb of ["show", "disable", "enable"]) {
        const { code, errors } = await run(catalog, verb, "nothing");
        assert.equal(code, 1);
        assert.match(errors, new RegExp(`no ${one} named "nothing".*${catalog} list`));
      }
      assert.equal(await db.collection(`sys_push_${one}`).countDocuments({ name: "nothing" }), 0);
    });

    it("escapes control characters in names", async () => {
      const name = "evil\u001B[2J\nname";
      await db
        .collection(`sys_push_${one}`)
        .insertOne({ _id: newId() as never, name, active: true, token_rule: "\u009B31m" });
      for (const args of [["list"], ["show", name], ["disable", name]]) {
        const { code, output } = await run(catalog, ...args);
        assert.equal(code, 0);
        assert.match(output, /evil\\u\{1b\}\[2J\\nname/);
        // oxlint-disable-next-line no-control-regex -- the output must not contain them
        assert.doesNotMatch(output, /[\u001B\u009B]/);
      }
    });
  });
}

describe("topicsync applications and platforms show", () => {
  it("count active and inactive installations", async () => {
    await db
      .collection("sys_push_notif_app_install")
      .insertMany([
        installation("a name", "b name", true),
        installation("a name", "b name", false),
        installation("a name", "c name", true),
        installation("b name", "b name", true),
      ]);
    assert.deepEqual(await readJson("applications", "show", "a name"), {
      name: "a name",
      active: true,
      installations: { active: 2, inactive: 1 },
    });
    assert.deepEqual(await readJson("platforms", "show", "b name"), {
      name: "b name",
      active: true,
      tokenRule: null,
      installations: { active: 2, inactive: 1 },
    });
    assert.match((await run("platforms", "show", "c name")).output, /installations +1 active, 0 inactive/);
  });
});

describe("topicsync platforms and token rules", () => {
  const showPlatform = async (name: string) =>
    (await readJson("platforms", "show", name)) as { tokenRule: string | null };

  it("adds platforms with a rule, changes it and removes it", async () => {
    for (const name of ["ios", "ipados"])
      assert.equal((await run("platforms", "add", name, "--token-rule", "apns")).code, 0);
    assert.equal((await showPlatform("ipados")).tokenRule, "apns");
    assert.match((await run("platforms", "list")).output, /ios +│ yes +│ apns/);
    assert.equal((await run("platforms", "rule", "ios", "webpush")).code, 0);
    assert.equal((await showPlatform("ios")).tokenRule, "webpush");
    assert.equal((await run("platforms", "rule", "ios", "none")).code, 0);
    assert.equal(
      "token_rule" in ((await db.collection("sys_push_platform").findOne({ name: "ios" })) ?? {}),
      false,
    );
    assert.equal((await showPlatform("ios")).tokenRule, null);
  });

  it("rejects names with control characters or outer spaces", async () => {
    for (const name of ["", "a ", "a\u001Bb"])
      assert.equal((await run("platforms", "add", name)).code, 64, JSON.stringify(name));
  });

  it("rejects unknown rules, and rules for applications", async () => {
    assert.equal((await run("platforms", "add", "x", "--token-rule", "apn")).code, 64);
    assert.equal((await run("platforms", "rule", "ios", "apn")).code, 64);
    assert.equal((await run("applications", "add", "x", "--token-rule", "apns")).code, 64);
    assert.equal((await run("platforms", "rule", "nothing", "apns")).code, 1);
  });
});
