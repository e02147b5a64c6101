import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createKeyStore } from "../../../src/storage/keys.ts";
import { createKeyAdministration } from "../../../src/users/key.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";

const { database } = await connectDatabase();
const store = createKeyStore(database);
const startedAt = Date.parse("2026-11-25T12:00:00Z");
const dayMs = 24 * 3_600_000;
const createKeys = (maxDays: number) => createKeyAdministration(store, maxDays, () => new Date(startedAt));
const afterDays = (days: number): Date => new Date(startedAt + days * dayMs);

const all = { after: undefined, limit: 1_000 };

describe("a new API key", () => {
  it("lives as long as KEYS_MAX_DAYS at most, and ends earlier if the setting is lowered", async () => {
    const name = unique("key");
    const create = (expiresOn: Date) =>
      createKeys(30).create({ name, roles: [], expiresOn }, { name: "ann" });
    const { key } = await create(afterDays(30));
    assert.equal(key.expiresOn, afterDays(30).toISOString());
    await assert.rejects(create(new Date(afterDays(30).getTime() + 1)), {
      details: [{ path: "/expiresOn", message: "must be within 30 days (KEYS_MAX_DAYS)" }],
    });
    const listed = (await createKeys(7).findPage(all)).keys.find(({ id }) => id === key.id);
    assert.equal(listed?.expiresOn, afterDays(7).toISOString());
    await create(afterDays(30));
    const later = createKeyAdministration(store, 7, () => afterDays(7));
    const given = { name, roles: [], expiresOn: afterDays(8) };
    await assert.doesNotReject(later.create(given, { name: "ann" }), "ended keys take no place");
  });

  it("ends with the stored user who made it, or made the key that did", async () => {
    for (const [creator, maker] of [
      [{ name: "ann" }, "ann"],
      [{ name: "key:sender", maker: "ann" }, "ann"],
      [{ name: "key:sender" }, undefined],
      [{ name: "oidc:ann" }, undefined],
      [{ name: "cli:root" }, undefined],
    ] as const) {
      const given = { name: unique("key"), roles: [], expiresOn: afterDays(1) };
      const { key } = await createKeys(30).create(given, creator);
      const stored = (await store.findPage(all)).keys.find(({ id }) => id === key.id);
      assert.deepEqual([stored?.createdBy, stored?.maker], [creator.name, maker]);
    }
  });
});
