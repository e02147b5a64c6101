import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { pino } from "pino";

import { createCheckKey } from "../../../src/users/key-check.ts";
import { toKeyDigest, type StoredKey } from "../../../src/users/key.ts";

const key = "tsk_example";
const startedAt = Date.parse("2026-11-25T12:00:00Z");

function createScene() {
  let time = startedAt;
  const stored = new Map<string, StoredKey>();
  const used: number[] = [];
  let reads = 0;
  let isMakerActive = true;
  const check = createCheckKey({
    keys: {
      findByDigest(digest) {
        reads += 1;
        return Promise.resolve(stored.get(digest));
      },
      markUsed(_id, usedOn) {
        used.push(usedOn.getTime());
        return Promise.reject(new Error("the store does not respond"));
      },
    },
    users: {
      find: (name) =>
        Promise.resolve(
          name === "ann" ? { name, roles: [], active: isMakerActive, passwordHash: "" } : undefined,
        ),
    },
    maxDays: 365,
    log: pino({ level: "silent" }),
    now: () => time,
  });
  const digest = toKeyDigest(key);
  const made = {
    ...{ id: "1", name: "sender", digest, roles: ["topics.read"], lastUsedOn: undefined },
    ...{ createdBy: "ann", maker: "ann" },
    createdOn: new Date(startedAt),
    expiresOn: new Date(startedAt + 600_000),
  };
  stored.set(digest, made);
  return {
    stored,
    made,
    used,
    digest,
    disableMaker: () => (isMakerActive = false),
    wait: (ms: number) => (time += ms),
    countReads: () => reads,
    try: async (admit = () => Promise.resolve()) => check(key, admit),
    check,
  };
}

describe("an API key", () => {
  it("names its caller and rights, and is remembered for 15 seconds", async () => {
    const scene = createScene();
    const caller = { name: "key:sender", roles: ["topics.read"], active: true, maker: "ann" };
    assert.deepEqual(await scene.try(), caller);
    scene.wait(14_999);
    const refuse = () => Promise.reject(new Error("not admitted"));
    assert.ok(!(scene.check(key, refuse) instanceof Promise));
    assert.equal(scene.countReads(), 1);
    scene.wait(1);
    await assert.rejects(scene.try(refuse), /not admitted/);
    await scene.try();
    assert.equal(scene.countReads(), 2);
  });

  it("is rejected within 15 seconds after it was deleted, and at once when it expires", async () => {
    const scene = createScene();
    await scene.try();
    scene.stored.delete(scene.digest);
    scene.wait(15_000);
    assert.equal(await scene.try(), undefined);
    const other = createScene();
    other.wait(599_990);
    assert.notEqual(await other.try(), undefined);
    other.wait(10);
    assert.equal(await other.try(), undefined);
  });

  it("is rejected within 15 seconds after the user with whom it ends was disabled, and if there is none", async () => {
    const scene = createScene();
    await scene.try();
    scene.disableMaker();
    scene.wait(15_000);
    assert.equal(await scene.try(), undefined);
    scene.stored.set(scene.digest, { ...scene.made, maker: "unknown" });
    assert.equal(await scene.try(), undefined);
    scene.stored.set(scene.digest, { ...scene.made, maker: undefined, createdBy: "oidc:ann" });
    assert.deepEqual(await scene.try(), { name: "key:sender", roles: ["topics.read"], active: true });
  });

  it("is read again at once for what outlasts the request", async () => {
    const scene = createScene();
    await scene.try();
    scene.disableMaker();
    assert.notEqual(await scene.try(), undefined, "remembered");
    assert.equal(await scene.check(key, () => Promise.resolve(), { afresh: true }), undefined);
  });

  it("ends after the longest life of keys, whenever it expires", async () => {
    const scene = createScene();
    scene.stored.set(scene.digest, { ...scene.made, expiresOn: new Date("9999-01-01T00:00:00Z") });
    scene.wait(365 * 24 * 3_600_000 - 1);
    assert.notEqual(await scene.try(), undefined);
    scene.wait(1);
    assert.equal(await scene.try(), undefined);
  });

  it("is unknown if another one has its name", async () => {
    const scene = createScene();
    assert.equal(await scene.check("tsk_other", () => Promise.resolve()), undefined);
  });

  it("stores the time of last use once a minute, and works while that fails", async () => {
    const scene = createScene();
    for (let i = 0; i < 9; i += 1) {
      await scene.try();
      scene.wait(10_000);
    }
    assert.deepEqual(scene.used, [startedAt, startedAt + 60_000]);
  });
});
