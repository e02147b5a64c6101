import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
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
