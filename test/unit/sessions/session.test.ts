import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { createLogger } from "../../../src/lib/logger.ts";
import { createSessions, type SessionStore } from "../../../src/sessions/session.ts";
import { createDatabase } from "../../../src/storage/database.ts";
import { createSessionStore } from "../../../src/storage/sessions.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { newId } from "../../../src/lib/sys-id.ts";
import { createUserAdministration } from "../../../src/users/administration.ts";
import { unique } from "../../support/names.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const database = createDatabase(uri, await createLogger("silent"));
await database.connect(new AbortController().signal);
after(() => database.close());
const users = createUserStore(database, newId);
const store = createSessionStore(database);
const sessions = createSessions({ store, users });
const administration = createUserAdministration({
  users,
  sessions: store,
  // What it makes of a password does not matter here, only that it is another one each time.
  hash: () => Promise.resolve(newId()),
});

async function newUser(): Promise<string> {
  const name = unique("user");
  await users.insert({ name, roles: [], active: true, passwordHash: newId() });
  return name;
}

async function beginSession(name: string): Promise<string> {
  const session = await sessions.begin(name);
  assert.ok(session !== undefined);
  return session.id;
}

const isLetIn = async (id: string): Promise<boolean> => (await sessions.find(id)) !== undefined;
const countStored = (name: string): Promise<number> =>
  db.collection("topicsync_sessions").countDocuments({ user_name: name });

describe("the sessions of a user who is disabled", () => {
  it("stay ended when the user is enabled again; others go on, and new ones begin", async () => {
    const [name, other] = [await newUser(), await newUser()];
    const [stolen, own] = [await beginSession(name), await beginSession(other)];
    assert.equal(await isLetIn(stolen), true);
    await administration.setActive(name, false);
    assert.equal(await isLetIn(stolen), false);
    await administration.setActive(name, true);
    assert.equal(await isLetIn(stolen), false);
    assert.equal(await isLetIn(own), true);
    assert.equal(await isLetIn(await beginSession(name)), true);
  });

  it("do not begin at the same moment either", async () => {
    const name = await newUser();
    const slow: SessionStore = {
      ...store,
      async insert(session) {
        await administration.setActive(name, false);
        await store.insert(session);
      },
    };
    assert.equal(await createSessions({ store: slow, users }).begin(name), undefined);
    assert.equal(await countStored(name), 0);
  });

  it("stay ended where the process was killed between disabling the user and ending them", async () => {
    const name = await newUser();
    const id = await beginSession(name);
    await users.change(name, { active: false });
    await administration.setActive(name, true);
    assert.equal(await isLetIn(id), false);
  });

  it("go on when a user who is active is enabled", async () => {
    const name = await newUser();
    const id = await beginSession(name);
    await administration.setActive(name, true);
    assert.equal(await isLetIn(id), true);
  });
});

describe("a session", () => {
  it("is over after twelve hours, and after eight where an OpenID provider answers for the user", async () => {
    const issuer = "https://id.example.org";
    const began = Date.now();
    let now = began;
    const timed = createSessions({ store, users, issuer, now: () => new Date(now) });
    const own = await timed.begin(await newUser());
    const theirs = await timed.beginFederated({ name: "oidc:ann", roles: [], active: true }, issuer);
    const hours = 60 * 60 * 1_000;
    for (const [id, lifetime] of [
      [theirs.id, 8 * hours],
      [own?.id ?? "", 12 * hours],
    ] as const) {
      now = began + lifetime - 1;
      assert.notEqual(await timed.find(id), undefined);
      now = began + lifetime;
      assert.equal(await timed.find(id), undefined);
    }
  });
});

describe("the sessions of a user who gets another password", () => {
  it("are removed from the store", async () => {
    const name = await newUser();
    const id = await beginSession(name);
    await administration.setPassword(name, "another password");
    assert.equal(await isLetIn(id), false);
    assert.equal(await countStored(name), 0);
  });
});
