import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Document } from "mongodb";

import { createInstallationDeactivator } from "../../../src/storage/installations/deactivation.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { dialects } from "../../support/mongo-dialects.ts";

const commands: Document[] = [];
const { db, database } = await connectProxiedDatabase({
  dialect: dialects["a sharded cluster with a member down"],
  onCommand: (command) => void commands.push(command),
});

describe("installations on a sharded cluster", () => {
  it("count as read once every shard that may have some has confirmed it", async () => {
    const name = "sys_push_notif_app_install";
    const inactive = installation("a", { active: false });
    await db.collection<InstallationRecord>(name).insertOne(inactive);
    commands.length = 0;
    const deactivator = createInstallationDeactivator(database);
    assert.deepEqual(await deactivator.deactivateByIds([inactive._id], "lost"), []);
    const confirmations = commands.filter(({ update }) => update === name);
    assert.ok(confirmations.length > 0);
    for (const { updates, writeConcern } of confirmations) {
      // mongos sends a condition without the shard key to every shard, unless it can never be met.
      const [{ q, multi }, ...others] = updates as [Document, ...Document[]];
      assert.deepEqual([q, multi, others], [{ _id: "" }, true, []]);
      assert.equal((writeConcern as Document)["w"], "majority");
    }
  });
});
