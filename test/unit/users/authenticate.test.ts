import assert from "node:assert/strict";
import { after, beforeEach, describe, it } from "node:test";

import { TooManyAttemptsError } from "../../../src/lib/errors.ts";
import { createDatabase } from "../../../src/storage/database.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { newId } from "../../../src/lib/sys-id.ts";
import { createAuthenticate } from "../../../src/users/authenticate.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createHashing } from "../../../src/users/hash-queue.ts";
import { addUser, ensureUser } from "../../../src/users/ensure-user.ts";
import { effortOf, hashPassword, padding, verifyPassword } from "../../../src/users/password.ts";
import { createLoginThrottle } from "../../../src/users/login-throttle.ts";
import { everyRole } from "../../../src/users/user.ts";
import { unique } from "../../support/names.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

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
    const tooCostly = "$scrypt$ln=30,r=8,p=3$c2FsdA$aGFzaA";
    for (const hash of ["", "x", "$scrypt$", "plain", tooCostly, "$scrypt$ln=0,r=0,p=0$c2FsdA$aGFzaA"])
      assert.equal(await verifyPassword("", hash), false);
  });

  it("takes as much computing for nobody, and for a hash of another cost, as for every other", () => {
    const ours = 2 ** 15 * 8 * 3;
    const work = (stored: string | undefined, done: number, effort: number): number => {
      const besides = padding(stored, effort);
      return done + (besides === undefined ? 0 : effortOf(besides));
    };
    const hash = (cost: string): string => `$scrypt$${cost}$c2FsdA$aGFzaA`;
    assert.equal(work(hash("ln=15,r=8,p=3"), ours, ours), ours);
    assert.equal(work(undefined, 0, ours), ours);
    assert.equal(work("no hash at all", 0, ours), ours);
    assert.equal(work(hash("ln=14,r=8,p=1"), 2 ** 14 * 8, ours), ours, "a weaker one");
    assert.equal(work(hash("ln=10,r=8,p=1"), 2 ** 10 * 8, ours), ours, "a much weaker one");
    const strong = 2 ** 16 * 8 * 3;
    assert.equal(work(hash("ln=16,r=8,p=3"), strong, strong), strong, "a stronger one");
    assert.equal(work(undefined, 0, strong), strong, "nobody, once a stronger one was seen");
    assert.equal(work(hash("ln=15,r=8,p=3"), ours, strong), strong, "ours, once a stronger one was seen");
  });
});

describe("checking credentials", () => {
  let now = 1;
  let reads = 0;
  let name = "";
  const clock = () => now;
  const counted = { ...users, find: (one: string) => ((reads += 1), users.find(one)) };
  const throttle = createLoginThrottle({ reached: () => undefined });
  const check = createAuthenticate({
    users: counted,
    throttle,
    hashing: createHashing({ rest: 0, longestWaitMs: 120_000 }),
    clock,
  });
  const authenticate = async (user: string, password: string, address = "192.0.2.1") =>
    check({ name: user, password, address });

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

  it("computes a hash again after five minutes, however often it was asked meanwhile", async () => {
    const minute = 60_000;
    const hashing = createHashing({ rest: 0, longestWaitMs: 120_000 });
    let hashes = 0;
    const counting = createAuthenticate({
      users,
      throttle,
      hashing: { run: (urgent, work) => ((hashes += 1), hashing.run(urgent, work)) },
      clock,
    });
    const logIn = async () => counting({ name, password: "right", address: "192.0.2.1" });
    for (let passed = 0; passed <= 5; passed += 1) {
      assert.equal((await logIn())?.name, name);
      assert.equal(hashes, 1, `after ${passed} minutes`);
      now += minute;
    }
    assert.equal((await logIn())?.name, name);
    assert.equal(hashes, 2);
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

describe("checking wrong credentials", () => {
  const here = "192.0.2.1";
  const elsewhere = "198.51.100.1";
  let hashes = 0;
  let now = 0;
  let reached: string[] = [];
  const clock = () => now;
  const hashing = createHashing({ rest: 0, longestWaitMs: 120_000 });
  const counted: typeof hashing = {
    run: (urgent, work) => hashing.run(urgent, () => ((hashes += 1), work())),
  };
  const fresh = () => {
    hashes = 0;
    now = 1;
    reached = [];
    const throttle = createLoginThrottle({
      reached: (limit) => reached.push(limit),
      limits: { userAtAddress: 3, address: 5, user: 7 },
    });
    const check = createAuthenticate({ users, throttle, hashing: counted, clock });
    return async (name: string, password: string, address = here) => check({ name, password, address });
  };
  const newUser = async (): Promise<string> => {
    const name = unique("user");
    await users.insert({ name, roles: [], active: true, passwordHash: await passwordHash });
    return name;
  };
  const passwordHash = hashPassword("right");
  const refused = (error: unknown): boolean => {
    assert.ok(error instanceof TooManyAttemptsError);
    assert.ok(
      error.retryAfterSeconds >= 1 && error.retryAfterSeconds <= 300,
      String(error.retryAfterSeconds),
    );
    return true;
  };

  it("is refused without a hash once a user failed too often from an address, right ones as well", async () => {
    const authenticate = fresh();
    const name = await newUser();
    for (const wrong of ["a", "b", "c"]) assert.equal(await authenticate(name, wrong), undefined);
    assert.deepEqual(reached, ["userAtAddress"]);
    hashes = 0;
    await assert.rejects(authenticate(name, "d"), refused);
    await assert.rejects(authenticate(name, "right"), refused);
    assert.equal(hashes, 0);
    assert.equal((await authenticate(name, "right", elsewhere))?.name, name, "from elsewhere nothing failed");
  });

  it("counts no more failures at once than one after another", async () => {
    const authenticate = fresh();
    const name = await newUser();
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => authenticate(name, `wrong ${index}`)),
    );
    // As many as are hashed at once may pass beyond the limit.
    const failed = all.filter(({ status }) => status === "fulfilled").length;
    assert.ok(failed >= 3 && failed <= 4, String(failed));
  });

  it("does not lock out a user who logged in from the same network, also when the record is read again", async () => {
    const authenticate = fresh();
    const name = await newUser();
    await authenticate(name, "right");
    for (const wrong of ["a", "b", "c"]) await authenticate(name, wrong);
    await assert.rejects(authenticate(name, "d"), refused);
    assert.equal((await authenticate(name, "right"))?.name, name);
    now += 60_000;
    assert.equal((await authenticate(name, "right"))?.name, name);
  });

  it("is refused from another network, right or wrong, however often the user logged in from here", async () => {
    const authenticate = fresh();
    const name = await newUser();
    assert.equal((await authenticate(name, "right", here))?.name, name);
    for (const wrong of ["a", "b", "c"]) assert.equal(await authenticate(name, wrong, elsewhere), undefined);
    hashes = 0;
    await assert.rejects(authenticate(name, "d", elsewhere), refused);
    await assert.rejects(authenticate(name, "right", elsewhere), refused);
    assert.equal((await authenticate(name, "right", here))?.name, name);
    assert.equal(hashes, 0);
  });

  it("makes a remembered credential count no more after 100 refused guesses at the user from there", async () => {
    const authenticate = fresh();
    const [name, other] = [await newUser(), await newUser()];
    for (const user of [name, other]) await authenticate(user, "right");
    for (const wrong of ["a", "b", "c"]) await authenticate(name, wrong);
    const guess = (count: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: count }, async () =>
          assert.rejects(authenticate(name, unique("guess")), refused),
        ),
      );
    await guess(99);
    assert.equal((await authenticate(name, "right"))?.name, name);
    await guess(1);
    await assert.rejects(authenticate(name, "right"), refused);
    assert.equal((await authenticate(other, "right"))?.name, other);
  });

  it("lets no more than 100 simultaneous guesses beyond the limit through to what is remembered", async () => {
    const authenticate = fresh();
    const name = await newUser();
    await authenticate(name, "right");
    for (const wrong of ["a", "b", "c"]) await authenticate(name, wrong);
    const guesses = [...Array.from({ length: 100 }, () => unique("guess")), "right"];
    const all = await Promise.allSettled(guesses.map((password) => authenticate(name, password)));
    assert.deepEqual([...new Set(all.map(({ status }) => status))], ["rejected"]);
  });

  it("is refused when an address tried many users, whether they exist or not", async () => {
    const authenticate = fresh();
    for (let user = 0; user < 5; user += 1) await authenticate(unique("nobody"), "x");
    assert.deepEqual(reached, ["address"]);
    await assert.rejects(authenticate(unique("nobody"), "x"), refused);
    await assert.rejects(authenticate(await newUser(), "right"), refused);
  });

  it("is refused when a user was tried from many addresses", async () => {
    const authenticate = fresh();
    const name = await newUser();
    for (let host = 1; host <= 7; host += 1) await authenticate(name, "x", `203.0.113.${host}`);
    assert.deepEqual(reached, ["user"]);
    await assert.rejects(authenticate(name, "right"), refused);
  });

  it("begins anew after a success", async () => {
    const authenticate = fresh();
    const name = await newUser();
    for (const password of ["a", "b", "right", "c", "d"]) await authenticate(name, password);
    assert.deepEqual(reached, []);
  });
});

describe("the user of the settings", () => {
  it("exists afterwards with every role, active and with this password, whatever was before", async () => {
    const name = unique("bootstrap");
    await ensureUser(users, name, "first");
    const created = await users.find(name);
    assert.deepEqual(created?.roles, everyRole);
    await ensureUser(users, name, "first");
    assert.equal((await users.find(name))?.passwordHash, created.passwordHash, "nothing to change");
    await users.change(name, { active: false, roles: ["another"] });
    await ensureUser(users, name, "second");
    const mended = await users.find(name);
    assert.equal(mended?.active, true);
    assert.deepEqual(mended.roles, ["another", ...everyRole]);
    assert.equal(await verifyPassword("second", mended.passwordHash), true);
  });
});
