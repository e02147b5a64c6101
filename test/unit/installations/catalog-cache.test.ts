import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createCatalog } from "../../../src/installations/catalog-cache.ts";
import {
  createUnknownError,
  type CatalogStore,
  type NamedStore,
} from "../../../src/installations/catalog.ts";
import { createCatalogStore } from "../../../src/storage/catalog.ts";
import { connectDatabase } from "../../support/database.ts";
import { until } from "../../support/poll.ts";
import { unique } from "../../support/names.ts";

const { database } = await connectDatabase();
const store = createCatalogStore(database);

/** A catalog with a manual clock and a counter of reads. */
function createScene() {
  let now = 1_000_000;
  let reads = 0;
  const counting = (named: NamedStore): NamedStore => ({
    ...named,
    list() {
      reads += 1;
      return named.list();
    },
  });
  const counted: CatalogStore = {
    applications: counting(store.applications),
    platforms: counting(store.platforms),
  };
  return {
    catalog: createCatalog(counted, () => now),
    pass: (ms: number) => (now += ms),
    reads: () => reads,
  };
}

describe("the catalog cache", () => {
  it("reads once for many requests", async () => {
    const { catalog, reads } = createScene();
    const name = unique("app");
    await store.applications.insert({ name, active: true });
    await Promise.all(Array.from({ length: 50 }, async () => await catalog.getApplication(name)));
    assert.deepEqual(await catalog.getApplication(name), { name, active: true, tokenRule: undefined });
    assert.equal(reads(), 1);
  });

  it("finds a name as soon as it is added", async () => {
    const { catalog, pass } = createScene();
    const name = unique("app");
    assert.equal(await catalog.getApplication(name), undefined);
    await store.applications.insert({ name, active: true });
    pass(1);
    assert.deepEqual(await catalog.getApplication(name), { name, active: true, tokenRule: undefined });
  });

  it("picks up a change in the background after a second", async () => {
    const { catalog, pass } = createScene();
    const name = unique("platform");
    await store.platforms.insert({ name, active: true });
    await catalog.getPlatform(name);
    await store.platforms.change(name, { active: false, tokenRule: "apns" });
    assert.equal((await catalog.getPlatform(name))?.active, true);
    pass(1_000);
    await until("the change is picked up", async () => (await catalog.getPlatform(name))?.active === false);
    assert.deepEqual(await catalog.getPlatform(name), { name, active: false, tokenRule: "apns" });
  });

  it("does not return records read ten seconds ago", async () => {
    const { catalog, pass } = createScene();
    const name = unique("platform");
    await store.platforms.insert({ name, active: true, tokenRule: "fcm" });
    await catalog.getPlatform(name);
    await store.platforms.change(name, { tokenRule: null });
    pass(10_000);
    assert.deepEqual(await catalog.getPlatform(name), { name, active: true, tokenRule: undefined });
  });

  it("reads once for many concurrent unknown names", async () => {
    const { catalog, reads } = createScene();
    await catalog.getApplication("nothing");
    const before = reads();
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => await catalog.getApplication(`nothing-${i}`)),
    );
    assert.ok(reads() - before <= 1, `${reads() - before} reads`);
  });
});

it("an unknown name that looks like another one is rejected with the reason", () => {
  const decomposed = "Sto\u0308rung";
  for (const kind of ["application", "platform"] as const) {
    assert.match(createUnknownError(kind, decomposed).details[0]?.message ?? "", /Unicode's form NFC$/);
    assert.doesNotMatch(createUnknownError(kind, decomposed.normalize()).details[0]?.message ?? "", /NFC/);
  }
});
