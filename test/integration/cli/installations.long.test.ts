import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { ensureIndexes } from "../../../src/storage/indexes.ts";
import { useFolder } from "../../support/folder.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { unique } from "../../support/names.ts";
import { parseNdjson, toNdjson } from "../../support/ndjson.ts";
import { runCli } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const folder = useFolder();
const dayMs = 86_400_000;
const daysAgo = (days: number): Date => new Date(Date.now() - days * dayMs);

/** Creates a database with the command line connected to it. */
function createScene() {
  const { uri, db } = testDatabase(sharedStack().mongodb);
  const named = (name: string) => ({ _id: unique("id") as never, name, active: true });
  const installations = db.collection<InstallationRecord>("sys_push_notif_app_install");
  return {
    installations,
    /** Stores two applications, a platform and these records. */
    prepare: async (records: InstallationRecord[] = []): Promise<void> => {
      await ensureIndexes(db);
      await db.collection("sys_push_application").insertMany(["agent", "other"].map(named));
      await db.collection("sys_push_platform").insertOne(named("ios"));
      if (records.length > 0) await installations.insertMany(records);
    },
    all: () => installations.find().sort({ _id: 1 }).toArray(),
    cli: (...args: string[]) => runCli(["installations", ...args], { MONGODB_URI: uri }),
  };
}

describe("topicsync installations list", () => {
  const token = "0123456789abcdef0123456789abcdef";

  it("shortens tokens by default, in a table and as NDJSON", async () => {
    const { prepare, cli } = createScene();
    await prepare([
      installation(token),
      installation("gone", { active: false, deactivated_reason: "Unregistered", user: "bob" }),
    ]);
    const table = await cli("list");
    assert.equal(table.code, 0, table.errors);
    assert.ok(!table.output.includes(token));
    assert.match(table.output, /012345…cdef +agent +ios +ann +yes/);
    assert.match(table.output, /g… +agent +ios +bob +no .*Unregistered/);
    assert.match(table.output, /2 installations/);
    const json = await cli("list", "--json", "--full-tokens", "--active");
    assert.deepEqual(
      (parseNdjson(json.output) as { token: string }[]).map((one) => one.token),
      [token],
    );
    const none = await cli("list", "--user", "carla");
    assert.match(none.output, /No installations match/);
  });
});

describe("topicsync installations sweep", () => {
  it("deactivates unseen tokens with a reason, and only counts them in a dry run", async () => {
    const { installations, prepare, all, cli } = createScene();
    const old = { last_seen_on: daysAgo(271) };
    await prepare([
      ...Array.from({ length: 300 }, (_, i) => installation(`old-${i}`, old)),
      installation("other", { ...old, application: "other" }),
      installation("fresh", { last_seen_on: daysAgo(269) }),
      installation("gone", { ...old, active: false, deactivated_reason: "Unregistered" }),
    ]);
    const before = await all();
    const choice = ["--unseen-for", "270d", "--application", "agent"];
    const dry = await cli("sweep", ...choice, "--dry-run");
    assert.match(dry.output, /^300 installations last seen before/);
    assert.deepEqual(await all(), before);
    assert.equal((await cli("sweep", ...choice)).code, 64, "no terminal to ask for confirmation");
    const swept = await cli("sweep", ...choice, "--yes");
    assert.equal(swept.code, 0, swept.errors);
    assert.match(swept.output, /deactivated 300 installations: not seen for 270 days/);
    const inactive = await installations.find({ active: false }).toArray();
    assert.equal(inactive.length, 301);
    for (const { token, deactivated_reason, deactivated_on } of inactive) {
      const reason = token === "gone" ? "Unregistered" : "not seen for 270 days";
      assert.equal(deactivated_reason, reason);
      assert.equal(deactivated_on instanceof Date, token !== "gone");
    }
    const again = await cli("sweep", "--unseen-for", "1.5d", "--application", "agent", "--yes");
    assert.match(again.output, /deactivated 1 installation: not seen for 36 hours/);
  });
});

describe("a list of installations with full tokens", () => {
  const file = join(folder.path, "listed.ndjson");
  const source = createScene();

  before(async () => {
    await source.prepare([
      ...Array.from({ length: 120 }, (_, i) => installation(`token-${i}`)),
      installation("moved", { previous_owners: [{ user: "bob", until: daysAgo(3) }] }),
      installation("gone", { active: false, deactivated_on: daysAgo(2), deactivated_reason: "Unregistered" }),
    ]);
    const { code, output, errors } = await source.cli("list", "--json", "--full-tokens");
    assert.equal(code, 0, errors);
    writeFileSync(file, output);
    assert.match(errors, /"audit":true,.*"via":"cli",.*"count":122,"msg":"installations\.read-tokens"/);
  });

  it("has the same records after one import into another database, and after two", async () => {
    const { prepare, all, cli } = createScene();
    await prepare();
    const dry = await cli("import", file, "--dry-run");
    assert.match(dry.output, /122 added, 0 updated, 0 kept .* 0 rejected/);
    assert.deepEqual(await all(), []);
    const first = await cli("import", file);
    assert.equal(first.code, 0, first.errors);
    assert.match(first.output, /122 added, 0 updated, 0 kept/);
    assert.deepEqual(await all(), await source.all());
    const again = await cli("import", file, "--json");
    assert.deepEqual(JSON.parse(again.output), { added: 0, updated: 0, kept: 122, rejected: 0 });
    assert.deepEqual(await all(), await source.all());
  });
});

describe("an import of installations", () => {
  it("keeps the record that changed later", async () => {
    const { prepare, all, cli } = createScene();
    const stored = { sys_updated_on: daysAgo(10), last_seen_on: daysAgo(10), user: "stored" };
    await prepare([installation("older", stored), installation("newer", stored)]);
    const view = (token: string, days: number) => ({
      application: "agent",
      platform: "ios",
      token,
      user: "imported",
      active: false,
      createdOn: daysAgo(20).toISOString(),
      updatedOn: daysAgo(days).toISOString(),
      lastSeenOn: daysAgo(20).toISOString(),
      deactivatedReason: "Unregistered",
    });
    const given = [view("older", 11), view("newer", 9), view("twice", 8), view("twice", 7)];
    const file = folder.createFile("conflicts.ndjson", toNdjson(...given));
    const { code, output, errors } = await cli("import", file);
    assert.equal(code, 0, errors);
    assert.match(output, /1 added, 1 updated, 2 kept/);
    const found = new Map((await all()).map((one) => [one.token, one]));
    assert.equal(found.get("older")?.user, "stored");
    assert.equal(found.get("newer")?.user, "imported");
    assert.equal(found.get("newer")?.deactivated_reason, "Unregistered");
    assert.equal(found.get("twice")?.sys_updated_on.toISOString(), given[3]?.updatedOn);
  });

  it("reports the line of every fault, stores the others, and exits with 3", async () => {
    const { prepare, all, cli } = createScene();
    await prepare([installation("holder", { _id: "taken" })]);
    const on = daysAgo(1).toISOString();
    const good = {
      application: "agent",
      platform: "ios",
      token: "good",
      user: "ann",
      active: true,
      createdOn: on,
      updatedOn: on,
      lastSeenOn: on,
    };
    const given = [
      "no JSON",
      { ...good, application: "nothing" },
      { ...good, platform: "symbian" },
      good,
      { ...good, token: "", lastSeenOn: "yesterday" },
      { ...good, id: "taken", token: "another" },
    ];
    const text = given.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
    const file = folder.createFile("faults.ndjson", text.join("\n"));
    const { code, output, errors } = await cli("import", file);
    assert.equal(code, 3);
    assert.match(output, /1 added, 0 updated, 0 kept .* 5 rejected/);
    for (const [number, what] of [
      [1, /is not JSON/],
      [2, /\/application is not a push application: "nothing"/],
      [3, /\/platform is not a push platform: "symbian"/],
      [5, /\/token must not be empty.*\/lastSeenOn must be a time/],
      [6, /\/id belongs to another installation/],
    ] as const) {
      const line = errors.split("\n").find((one) => one.startsWith(`${file}:${number}: `));
      assert.match(line ?? "", what);
    }
    assert.deepEqual((await all()).map(({ token }) => token).toSorted(), ["good", "holder"]);
  });
});
