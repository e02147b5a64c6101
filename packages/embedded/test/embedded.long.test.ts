import assert from "node:assert/strict";
import { chmodSync, chownSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";
import { resolveStore } from "../embedded.ts";
import { runCli } from "../../../test/support/service.ts";
import { databaseUri, sharedStack } from "../../../test/support/stack.ts";
import { createFolder } from "../../../test/support/local.ts";

const { mongodb, kafka } = sharedStack();

it("rejects a second service on the data of a running one, and says how to share its broker and store", async (t) => {
  const folder = createFolder(t);
  writeFileSync(join(folder, "running.json"), JSON.stringify({ store: mongodb, broker: kafka }));
  const { code, output } = await runCli(["start"], { TOPICSYNC_DATA: folder });
  assert.equal(code, 69);
  const line = output.split("\n").find((text) => text.includes('"level":60'));
  assert.equal(
    (JSON.parse(line ?? "{}") as { msg?: string }).msg,
    `another topicsync runs its embedded broker and store on ${folder}: stop it, or share them by ` +
      `setting MONGODB_URI='${databaseUri(mongodb, "topicsync")}' KAFKA_BROKERS=${kafka} and another HTTP_PORT`,
  );
});

for (const { settings, missing } of [
  { settings: {}, missing: "MONGODB_URI and KAFKA_BROKERS" },
  { settings: { KAFKA_BROKERS: kafka }, missing: "MONGODB_URI" },
  { settings: { MONGODB_URI: databaseUri(mongodb, "topicsync") }, missing: "KAFKA_BROKERS" },
]) {
  it(`starts no embedded server in production, and names ${missing} as missing`, async (t) => {
    const folder = createFolder(t);
    const all = { ...settings, NODE_ENV: "production", TOPICSYNC_DATA: folder };
    const { code, output } = await runCli(["start"], all);
    assert.equal(code, 78);
    assert.ok(output.includes(`is used: set ${missing}`), output);
    assert.deepEqual(readdirSync(folder), []);
  });
}

for (const settings of [{ NODE_ENV: "production" }, { TOPICSYNC_STACK: "none" }]) {
  const [[name, value] = []] = Object.entries(settings);
  it(`uses no embedded server with ${name}=${value}`, async (t) => {
    const folder = createFolder(t);
    writeFileSync(join(folder, "running.json"), JSON.stringify({ store: mongodb, broker: kafka }));
    for (const command of [["start"], ["topics", "list"], ["topics", "egress"]]) {
      const own = { ...settings, KAFKA_EVENTS_TOPIC: "events", TOPICSYNC_DATA: folder };
      const { code, output, errors } = await runCli(command, own);
      assert.equal(code, 78);
      assert.ok(`${output}${errors}`.includes(`${name} is`), `${output}${errors}`);
      assert.match(
        `${output}${errors}`,
        /no embedded broker or store is used: set (?:MONGODB_URI|KAFKA_BROKERS)/,
      );
    }
  });
}

it("starts no store for a command, which would succeed on an empty one", async (t) => {
  const folder = createFolder(t);
  const { code, errors } = await runCli(["topics", "list"], { KAFKA_BROKERS: kafka, TOPICSYNC_DATA: folder });
  assert.equal(code, 69);
  assert.ok(errors.includes(`no embedded stack is running on ${folder}`), errors);
  assert.match(errors, /start the service first, or set MONGODB_URI/);
  assert.deepEqual(readdirSync(folder), []);
});

it("uses no data folder that other users may write to", async (t) => {
  const folder = createFolder(t);
  chmodSync(folder, 0o777);
  const { code, output } = await runCli(["start"], { TOPICSYNC_DATA: folder });
  assert.equal(code, 78);
  assert.ok(output.includes(`${folder} may be changed by other users`), output);
});

it("uses no data folder in a folder of another user, who could replace it", async (t) => {
  const folder = createFolder(t);
  const owner = statSync(folder).uid;
  // Only root can give a folder away, and root's folders are trusted.
  if (owner === 0) chownSync(folder, 12_345, 12_345);
  const { getuid } = process;
  process.getuid = () => owner + 1;
  t.after(() => Object.assign(process, { getuid }));
  await assert.rejects(
    resolveStore(readConfig({ TOPICSYNC_DATA: join(folder, ".topicsync") })),
    (error) =>
      error instanceof ConfigurationError && error.message.startsWith(`${folder} belongs to another user`),
  );
});
