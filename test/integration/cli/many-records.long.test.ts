/** Commands that read or write more than a page of a thousand. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { describe, it } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import { ensureIndexes } from "../../../src/storage/indexes.ts";
import { useFolder } from "../../support/folder.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { unique } from "../../support/names.ts";
import { toNdjson } from "../../support/ndjson.ts";
import { until } from "../../support/poll.ts";
import { cli, environment, runCli } from "../../support/service.ts";
import { testDatabase } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const folder = useFolder();
const count = 1_234;
const definitions = Array.from({ length: count }, (_, n) => ({
  ...{
    externalId: `topic-${String(n).padStart(4, "0")}`,
    name: `name ${n % 7}`,
    namespace: n % 2 ? "odd" : "",
  },
  ...{ headerQuery: "eventType=A", contentQuery: `n=${n}` },
}));
const path = folder.createFile(unique("file"), toNdjson(...definitions));

function createScene() {
  const { uri, db } = testDatabase();
  const settings = { MONGODB_URI: uri };
  return {
    db,
    settings,
    stored: db.collection<{ _id: string }>("svc_api_notif_mgmt_topic"),
    topics: (...args: string[]) => runCli(["topics", ...args], settings),
  };
}

describe("topics import", () => {
  it("imports more than a thousand topics, with its progress, which are exported again", async () => {
    const { topics } = createScene();
    const first = await topics("import", path);
    assert.deepEqual(
      [first.code, first.output],
      [0, "1234 created, 0 unchanged, 0 rejected\n"],
      first.errors,
    );
    assert.match(first.errors, /importing: 1000 of 1234/);
    const again = await topics("import", "--json", path);
    assert.deepEqual(JSON.parse(again.output), { created: 0, unchanged: count, rejected: [] });
    assert.equal((await topics("export")).output, toNdjson(...definitions));
    assert.match((await topics("list", "--all")).output, /1234 topics\n$/);
  });

  it("lose nothing when interrupted, and continue when run again", async () => {
    const third = createScene();
    const child = spawn(process.execPath, [cli, "topics", "import", path], {
      env: environment(third.settings),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    const ended = new Promise((resolve) => child.once("close", resolve));
    await until("some are stored", async () => (await third.stored.countDocuments()) > 0);
    child.kill("SIGINT");
    await ended;
    const stored = await third.stored.countDocuments();
    assert.equal(child.exitCode, exitCodes.unavailable, errors);
    const said = /stopped after (\d+) of 1234; run the same command again/.exec(errors);
    assert.equal(Number(said?.[1]), stored);
    const again = await third.topics("import", "--json", path);
    assert.deepEqual(JSON.parse(again.output), { created: count - stored, unchanged: stored, rejected: [] });
  });
});

describe("filters check", () => {
  it("checks the filters of several pages of topics", async () => {
    const { stored, settings } = createScene();
    const records = Array.from({ length: 5_100 }, (_, n) =>
      createTopicRecord({ externalId: `fine-${n}`, contentQuery: `n=${n}` }),
    );
    await stored.insertMany(records);
    const { code, output, errors } = await runCli(["filters", "check"], settings);
    assert.deepEqual([code, output], [0, "5100 topics, all filters are valid\n"], errors);
  });
});

describe("installations import", () => {
  it("imports more than a thousand installations once", async () => {
    const [from, to] = [createScene(), createScene()];
    const named = (name: string) => ({ _id: unique("id") as never, name, active: true });
    for (const { db } of [from, to]) {
      await ensureIndexes(db);
      await db.collection("sys_push_application").insertOne(named("agent"));
      await db.collection("sys_push_platform").insertOne(named("ios"));
    }
    await from.db
      .collection<InstallationRecord>("sys_push_notif_app_install")
      .insertMany(Array.from({ length: 1_200 }, (_, i) => installation(`token-${i}`)));
    const file = `${path}.installations`;
    const listed = await runCli(["installations", "list", "--json", "--full-tokens"], from.settings);
    assert.equal(listed.code, 0, listed.errors);
    writeFileSync(file, listed.output);
    const first = await runCli(["installations", "import", file], to.settings);
    assert.match(first.output, /1200 added, 0 updated, 0 kept/);
    const again = await runCli(["installations", "import", file, "--json"], to.settings);
    assert.deepEqual(JSON.parse(again.output), { added: 0, updated: 0, kept: 1_200, rejected: 0 });
  });
});
