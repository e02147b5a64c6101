import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { createDatabase } from "../../src/storage/database.ts";
import { createUserStore } from "../../src/storage/users.ts";
import { newId } from "../../src/topics/topic.ts";
import { createAuthenticate } from "../../src/users/credentials.ts";
import { createLogger } from "../../src/logger.ts";
import { addUser, bootstrapUser } from "../../src/users/manage.ts";
import { hashPassword, verifyPassword } from "../../src/users/password.ts";
import { everyRole } from "../../src/users/user.ts";
import { unique } from "../support/names.ts";
import { sharedStack, testDatabase } from "../support/stack.ts";
import { after } from "node:test";

const { uri } = testDatabase(sharedStack().mongodb);
const database = createDatabase(uri, await createLogger("silent"));
await database.connect(new AbortController().signal);
after(() => database.close());
const users = createUserStore(database, newId);

describe("a password's hash", () => {
  it("verifies the password and no other", async () => {
    const hash = await hashPassword("pässword");
    assert.equal(await verifyPassword("pässword", hash), true);
    assert.equal(
      await verifyPassword("pa\u0308ssword", hash),
      true,
      "the same letters, composed in another way",
    );
    assert.equal(await verifyPassword("password", hash), false);
  });

  it("differs each time", async () => {
    assert.notEqual(await hashPassword("x"), await hashPassword("x"));
  });

  it("that is none verifies nothing", async () => {
    for (const hash of ["", "x", "$scrypt$", "plain"]) assert.equal(await verifyPassword("", hash), false);
  });
});

describe("checking credentials", () => {
  let now = 0;
  let reads = 0;
  let name = "";
  const clock = () => now;
  const counted = { ...users, find: (one: string) => ((reads += 1), users.find(one)) };
  const authenticate = createAuthenticate(counted, clock);

  beforeEach(async () => {
    name = unique("user");
    await addUser(users, { name, password: "right", roles: ["push_admin"] });
    reads = 0;
  });

  it("gives the user with its roles, or nothing", async () => {
    assert.deepEqual(await authenticate(name, "right"), { name, roles: ["push_admin"], active: true });
    assert.equal(await authenticate(name, "wrong"), undefined);
    assert.equal(await authenticate(unique("nobody"), "right"), undefined);
  });

  it("reads the record once for many requests", async () => {
    await Promise.all(Array.from({ length: 50 }, async () => authenticate(name, "right")));
    await authenticate(name, "right");
    assert.equal(reads, 1);
  });

  it("refuses a user who was deactivated, or whose password was changed, after 30 seconds at most", async () => {
    await authenticate(name, "right");
    await users.change(name, { active: false });
    now += 30_000;
    assert.equal(await authenticate(name, "right"), undefined);
    await users.change(name, { active: true, passwordHash: await hashPassword("new") });
    assert.equal(await authenticate(name, "right"), undefined);
    assert.equal((await authenticate(name, "new"))?.name, name);
  });

  it("notices changed roles after 30 seconds at most", async () => {
    await authenticate(name, "right");
    await users.change(name, { roles: [] });
    now += 30_000;
    assert.deepEqual((await authenticate(name, "right"))?.roles, []);
  });
});

describe("the user of the settings", () => {
  it("exists afterwards with every role, active and with this password, whatever was before", async () => {
    const name = unique("bootstrap");
    await bootstrapUser(users, name, "first");
    const created = await users.find(name);
    assert.deepEqual(created?.roles, everyRole);
    await bootstrapUser(users, name, "first");
    assert.equal((await users.find(name))?.passwordHash, created.passwordHash, "nothing to change");
    await users.change(name, { active: false, roles: ["another"] });
    await bootstrapUser(users, name, "second");
    const mended = await users.find(name);
    assert.equal(mended?.active, true);
    assert.deepEqual(mended.roles, ["another", ...everyRole]);
    assert.equal(await verifyPassword("second", mended.passwordHash), true);
  });
});
