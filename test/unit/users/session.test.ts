import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { newId } from "@topicsync/lib/sys-id";
import { createSessions, type SessionStore } from "../../../src/users/session.ts";
import { createSessionStore } from "../../../src/storage/sessions.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { createUserAdministration } from "../../../src/users/administration.ts";
import type { StoredUser } from "../../../src/users/user.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";

const { db, database } = await connectDatabase();
const users = createUserStore(database);
const store = createSessionStore(database);
const sessions = createSessions({ store, users });
const administration = createUserAdministration({
  users,
  sessions: store,
  // Not a real hash, but a different one each time.
  hash: () => Promise.resolve(newId()),
});

async function createUser(): Promise<string> {
  const name = unique("user");
  await users.insert({ name, roles: [], active: true, passwordHash: newId() });
  return name;
}

/** The user, as after a check of the password. */
async function verify(name: string): Promise<StoredUser> {
  const user = await users.find(name);
  assert.ok(user !== undefined);
  return user;
}

async function beginSession(name: string): Promise<string> {
  const session = await sessions.begin(await verify(name));
  assert.ok(session !== undefined);
  return session.id;
}

const isAccepted = async (id: string): Promise<boolean> => (await sessions.find(id)) !== undefined;
const countStored = (name: string): Promise<number> =>
  db.collection("topicsync_sessions").countDocuments({ user_name: name });

describe("the sessions of a user who is disabled", () => {
  it("stay ended when the user is enabled again; those of others continue, and new ones start", async () => {
    const [name, other] = [await createUser(), await createUser()];
    const [stolen, own] = [await beginSession(name), await beginSession(other)];
    assert.equal(await isAccepted(stolen), true);
    await administration.setActive(name, false);
    assert.equal(await isAccepted(stolen), false);
    await administration.setActive(name, true);
    assert.equal(await isAccepted(stolen), false);
    assert.equal(await isAccepted(own), true);
    assert.equal(await isAccepted(await beginSession(name)), true);
  });

  it("do not start while the user is being disabled", async () => {
    const name = await createUser();
    const slow: SessionStore = {
      ...store,
      async insert(session) {
        await administration.setActive(name, false);
        await store.insert(session);
      },
    };
    assert.equal(await createSessions({ store: slow, users }).begin(await verify(name)), undefined);
    assert.equal(await countStored(name), 0);
  });

  it("stay ended if the process was killed between disabling the user and ending them", async () => {
    const name = await createUser();
    const id = await beginSession(name);
    await users.change(name, { active: false });
    await administration.setActive(name, true);
    assert.equal(await isAccepted(id), false);
  });

  it("continue when an active user is enabled", async () => {
    const name = await createUser();
    const id = await beginSession(name);
    await administration.setActive(name, true);
    assert.equal(await isAccepted(id), true);
  });
});

const hours = 60 * 60 * 1_000;

describe("a session", () => {
  it("ends when it is not used for two hours", async () => {
    let now = Date.now();
    const timed = createSessions({ store, users, now: () => new Date(now) });
    const { id = "", expiresOn } = (await timed.begin(await verify(await createUser()))) ?? {};
    for (const idle of [2 * hours - 1, 6 * 60_000, 2 * hours - 1]) {
      now += idle;
      assert.deepEqual((await timed.find(id))?.expiresOn, expiresOn, "the cookie lasts until the end");
    }
    now += 2 * hours;
    assert.equal(await timed.find(id), undefined);
  });

  it("is not written for each request", async () => {
    let writes = 0;
    let now = Date.now();
    const extend: SessionStore["extend"] = (...of) => {
      writes += 1;
      return store.extend(...of);
    };
    const timed = createSessions({ store: { ...store, extend }, users, now: () => new Date(now) });
    const { id = "" } = (await timed.begin(await verify(await createUser()))) ?? {};
    for (let seconds = 0; seconds < 3_600; seconds += 10) {
      now += 10_000;
      assert.notEqual(await timed.find(id), undefined);
    }
    assert.ok(writes <= 12, `${writes} writes in an hour`);
  });

  it("ends when its user starts twenty others", async () => {
    const [name, other] = [await createUser(), await createUser()];
    const theirs = await beginSession(other);
    const ids: string[] = [];
    let now = Date.now();
    const timed = createSessions({ store, users, now: () => new Date((now += 1_000)) });
    for (let i = 0; i < 25; i += 1) ids.push((await timed.begin(await verify(name)))?.id ?? "");
    assert.equal(await countStored(name), 20);
    const accepted = await Promise.all(ids.map((id) => isAccepted(id)));
    assert.deepEqual(accepted, [...Array<boolean>(5).fill(false), ...Array<boolean>(20).fill(true)]);
    assert.equal(await isAccepted(theirs), true);
    assert.equal((await sessions.list(name)).length, 20);
  });

  it("expires after twelve hours, or after eight for users of an OpenID provider", async () => {
    const issuer = "https://id.example.org";
    const began = Date.now();
    let now = began;
    const timed = createSessions({ store, users, issuer, now: () => new Date(now) });
    const own = await timed.begin(await verify(await createUser()));
    const theirs = await timed.beginFederated({ name: "oidc:ann", roles: [], active: true }, issuer);
    for (const [id, lifetime] of [
      [theirs.id, 8 * hours],
      [own?.id ?? "", 12 * hours],
    ] as const) {
      for (now = began; now < began + lifetime; now += hours)
        assert.notEqual(await timed.find(id), undefined);
      now = began + lifetime - 1;
      assert.notEqual(await timed.find(id), undefined);
      now = began + lifetime;
      assert.equal(await timed.find(id), undefined);
    }
  });
});

describe("the sessions of a user whose password changes", () => {
  it("are removed from the store", async () => {
    const name = await createUser();
    const id = await beginSession(name);
    await administration.setPassword(name, "another password");
    assert.equal(await isAccepted(id), false);
    assert.equal(await countStored(name), 0);
  });

  it("do not start with a password that was replaced after it was checked", async () => {
    const name = await createUser();
    const verified = await verify(name);
    await administration.setPassword(name, "another password");
    assert.equal(await sessions.begin(verified), undefined);
    assert.equal(await countStored(name), 0);
    assert.notEqual(await sessions.begin(await verify(name)), undefined);
  });
});
