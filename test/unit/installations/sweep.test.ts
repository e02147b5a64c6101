import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { createInstallationListing } from "../../../src/installations/listing.ts";
import { sweep } from "../../../src/installations/sweep.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createCatalogStore } from "../../../src/storage/catalog.ts";
import { createDatabase } from "../../../src/storage/database.ts";
import { createInstallationReader } from "../../../src/storage/installation-reader.ts";
import { newId } from "../../../src/lib/sys-id.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const database = createDatabase(uri, await createLogger("silent"));
await database.connect(new AbortController().signal);
after(() => database.close());
const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
const reader = createInstallationReader(database);
const listing = createInstallationListing(reader, createCatalogStore(database, newId));

describe("a sweep", () => {
  it("does not touch a token that was seen, or deactivated, after it was looked at", async () => {
    const old = { last_seen_on: new Date("2026-01-01T00:00:00Z") };
    await records.insertMany([
      installation("forgotten", old),
      installation("seen meanwhile", old),
      installation("dead meanwhile", old),
    ]);
    const unseenSince = new Date("2026-06-01T00:00:00Z");
    const swept = await sweep(listing, {
      filter: {},
      unseenSince,
      abort: new AbortController().signal,
      progress: () => undefined,
      async deactivate(ids) {
        await records.updateOne({ token: "seen meanwhile" }, { $set: { last_seen_on: new Date() } });
        await records.updateOne(
          { token: "dead meanwhile" },
          { $set: { active: false, deactivated_reason: "Unregistered" } },
        );
        return reader.deactivate(ids, { unseenSince, reason: "not seen for long" });
      },
    });
    assert.deepEqual(swept, { found: 3, deactivated: 1 });
    const found = await records.find().toArray();
    assert.deepEqual(
      new Map(found.map(({ token, active, deactivated_reason }) => [token, [active, deactivated_reason]])),
      new Map([
        ["forgotten", [false, "not seen for long"]],
        ["seen meanwhile", [true, undefined]],
        ["dead meanwhile", [false, "Unregistered"]],
      ]),
    );
  });
});
