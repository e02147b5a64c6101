import assert from "node:assert/strict";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { runCli } from "../../support/service.ts";
import { databaseUri, sharedStack } from "../../support/stack.ts";
import { createFolder } from "./local.ts";

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
    assert.ok(output.includes(`set ${missing}, or unset NODE_ENV`), output);
    assert.deepEqual(readdirSync(folder), []);
  });
}

it("starts no store for a command in production", async (t) => {
  const all = { NODE_ENV: "production", KAFKA_BROKERS: kafka, TOPICSYNC_DATA: createFolder(t) };
  const { code, errors } = await runCli(["topics", "list"], all);
  assert.equal(code, 78);
  assert.match(errors, /set MONGODB_URI, or unset NODE_ENV/);
});

it("uses no data folder that other users may write to", async (t) => {
  const folder = createFolder(t);
  chmodSync(folder, 0o777);
  const { code, output } = await runCli(["start"], { TOPICSYNC_DATA: folder });
  assert.equal(code, 78);
  assert.ok(output.includes(`${folder} may be changed by other users`), output);
});
