import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { TooManyAttemptsError } from "@topicsync/lib/errors";
import { createUserStore } from "../../../src/storage/users.ts";
import { createAuthenticate } from "../../../src/users/authenticate.ts";
import { createHashQueue } from "../../../src/users/hash-queue.ts";
import {
  addBootstrapUser,
  createUserAdministration,
  resetBootstrapUser,
} from "../../../src/users/administration.ts";
import { hashPassword, verifyPassword } from "../../../src/users/password.ts";
import { createLoginThrottle } from "../../../src/users/login-throttle.ts";
import { everyRole } from "../../../src/users/user.ts";
import "../../support/cheap-hashes.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";

const { database } = await connectDatabase();
const users = createUserStore(database);
const administration = createUserAdministration({ users, sessions: { removeAll: () => Promise.resolve() } });

describe("checking credentials", () => {
  let now = 1;
  let reads = 0;
  let name = "";
  const clock = () => now;
  const counted = { ...users, find: (one: string) => ((reads += 1), users.find(one)) };
  const throttle = createLoginThrottle({ onLimit: () => undefined });
  const { verify: check, verifyAfresh } = createAuthenticate({
    users: counted,
    throttle,
    hashQueue: createHashQueue({ maxWaiting: 100, maxWaitMs: 120_000 }),
    clock,
  });
  const authenticate = async (user: string, password: string, address = "192.0.2.1") =>
    check({ name: user, password, address });

  beforeEach(async () => {
    name = unique("user");
    await administration.add({ name, password: "right", roles: ["push_admin"] });
    reads = 0;
  });

  it("returns the user with its roles, or undefined", async () => {
    assert.deepEqual(await authenticate(name, "right"), { name, roles: ["push_admin"], active: true });
    assert.equal(await authenticate(name, "wrong"), undefined);
    assert.equal(await authenticate(unique("nobody"), "right"), undefined);
  });

  it("computes a hash again after five minutes, even if requests keep coming", async () => {
    const minute = 60_000;
    const hashQueue = createHashQueue({ maxWaiting: 100, maxWaitMs: 120_000 });
    let hashes = 0;
    const { verify: counting } = createAuthenticate({
      users,
      throttle,
      hashQueue: { run: (priority, work) => ((hashes += 1), hashQueue.run(priority, work)) },
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

  it("reads the record once for concurrent requests", async () => {
    await Promise.all(Array.from({ length: 50 }, async () => authenticate(name, "right")));
    await authenticate(name, "right");
    assert.equal(reads, 1);
  });

  it("rejects a disabled user or an old password within 30 seconds", async () => {
    await authenticate(name, "right");
    await users.change(name, { active: false });
    now += 30_000;
    assert.equal(await authenticate(name, "right"), undefined);
    await users.change(name, { active: true, passwordHash: await hashPassword("new") });
    assert.equal(await authenticate(name, "right"), undefined);
    assert.equal((await authenticate(name, "new"))?.name, name);
  });

  it("notices changed roles within 30 seconds", async () => {
    await authenticate(name, "right");
    await users.change(name, { roles: [] });
    now += 30_000;
    assert.deepEqual((await authenticate(name, "right"))?.roles, []);
  });

  it("asks the store for what outlasts the request, so that nothing replaced is accepted", async () => {
    const afresh = (password: string) => verifyAfresh({ name, password, address: "192.0.2.1" });
    await authenticate(name, "right");
    await users.change(name, { roles: [] });
    assert.deepEqual(await afresh("right"), await users.find(name));
    const passwordHash = await hashPassword("new");
    await users.change(name, { passwordHash });
    assert.equal((await afresh("new"))?.passwordHash, passwordHash);
    assert.equal(await afresh("right"), undefined);
    await users.change(name, { active: false });
    assert.equal(await afresh("new"), undefined);
  });

  it("rejects a password that is replaced while its hash is computed", async () => {
    const replacing = createAuthenticate({
      users,
      throttle,
      hashQueue: {
        run: async (_priority, work) => {
          const found = await work();
          await users.change(name, { passwordHash: await hashPassword("new") });
          return found;
        },
      },
    });
    assert.equal(await replacing.verifyAfresh({ name, password: "right", address: "192.0.2.1" }), undefined);
  });
});

describe("a password that its user changes", () => {
  it("stays as it is if another was set since the current one was checked, or the user was disabled", async () => {
    const name = unique("user");
    await administration.add({ name, password: "first", roles: [] });
    const verified = await users.find(name);
    assert.ok(verified !== undefined);
    const changed = await administration.setPassword(name, "second", verified);
    const stored = await users.find(name);
    assert.equal(changed?.passwordHash, stored?.passwordHash);
    assert.notEqual(stored?.passwordHash, verified.passwordHash);
    assert.equal(await administration.setPassword(name, "third", verified), undefined);
    await administration.setActive(name, false);
    assert.equal(await administration.setPassword(name, "third", stored), undefined);
    assert.equal((await users.find(name))?.passwordHash, stored?.passwordHash);
  });
});

describe("checking wrong credentials", () => {
  const here = "192.0.2.1";
  const elsewhere = "198.51.100.1";
  let hashes = 0;
  let now = 0;
  let reached: string[] = [];
  const clock = () => now;
  const hashQueue = createHashQueue({ maxWaiting: 100, maxWaitMs: 120_000 });
  const counted: typeof hashQueue = {
    run: (priority, work) => hashQueue.run(priority, () => ((hashes += 1), work())),
  };
  const fresh = () => {
    hashes = 0;
    now = 1;
    reached = [];
    const throttle = createLoginThrottle({
      onLimit: (limit) => reached.push(limit),
      limits: { userAtAddress: 3, address: 5, user: 7 },
    });
    const { verify: check } = createAuthenticate({ users, throttle, hashQueue: counted, clock });
    return async (name: string, password: string, address = here) => check({ name, password, address });
  };
  const createUser = async (): Promise<string> => {
    const name = unique("user");
    await users.insert({ name, roles: [], active: true, passwordHash: await passwordHash });
    return name;
  };
  const passwordHash = hashPassword("right");
  const isRejected = (error: unknown): boolean => {
    assert.ok(error instanceof TooManyAttemptsError);
    assert.ok(
      error.retryAfterSeconds >= 1 && error.retryAfterSeconds <= 300,
      String(error.retryAfterSeconds),
    );
    return true;
  };

  it("is rejected without a hash after too many failures of a user at an address, even with the right password", async () => {
    const authenticate = fresh();
    const name = await createUser();
    for (const wrong of ["a", "b", "c"]) assert.equal(await authenticate(name, wrong), undefined);
    assert.deepEqual(reached, ["userAtAddress"]);
    hashes = 0;
    await assert.rejects(authenticate(name, "d"), isRejected);
    await assert.rejects(authenticate(name, "right"), isRejected);
    assert.equal(hashes, 0);
    assert.equal(
      (await authenticate(name, "right", elsewhere))?.name,
      name,
      "no failures from the other network",
    );
  });

  it("counts simultaneous failures like successive ones", async () => {
    const authenticate = fresh();
    const name = await createUser();
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => authenticate(name, `wrong ${index}`)),
    );
    // Hashes that run concurrently may exceed the limit.
    const failed = all.filter(({ status }) => status === "fulfilled").length;
    assert.ok(failed >= 3 && failed <= 4, String(failed));
  });

  it("does not lock out a user who logged in from the same network, even when the record is read again", async () => {
    const authenticate = fresh();
    const name = await createUser();
    await authenticate(name, "right");
    for (const wrong of ["a", "b", "c"]) await authenticate(name, wrong);
    await assert.rejects(authenticate(name, "d"), isRejected);
    assert.equal((await authenticate(name, "right"))?.name, name);
    now += 60_000;
    assert.equal((await authenticate(name, "right"))?.name, name);
  });

  it("is rejected from another network, right or wrong, even if the user has logged in from this one", async () => {
    const authenticate = fresh();
    const name = await createUser();
    assert.equal((await authenticate(name, "right", here))?.name, name);
    for (const wrong of ["a", "b", "c"]) assert.equal(await authenticate(name, wrong, elsewhere), undefined);
    hashes = 0;
    await assert.rejects(authenticate(name, "d", elsewhere), isRejected);
    await assert.rejects(authenticate(name, "right", elsewhere), isRejected);
    assert.equal((await authenticate(name, "right", here))?.name, name);
    assert.equal(hashes, 0);
  });

  it("drops a remembered credential after 100 rejected guesses at the user from that network", async () => {
    const authenticate = fresh();
    const [name, other] = [await createUser(), await createUser()];
    for (const user of [name, other]) await authenticate(user, "right");
    for (const wrong of ["a", "b", "c"]) await authenticate(name, wrong);
    const guess = (count: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: count }, async () =>
          assert.rejects(authenticate(name, unique("guess")), isRejected),
        ),
      );
    await guess(99);
    assert.equal((await authenticate(name, "right"))?.name, name);
    await guess(1);
    await assert.rejects(authenticate(name, "right"), isRejected);
    assert.equal((await authenticate(other, "right"))?.name, other);
  });

  it("counts simultaneous guesses against the remembered credential", async () => {
    const authenticate = fresh();
    const name = await createUser();
    await authenticate(name, "right");
    for (const wrong of ["a", "b", "c"]) await authenticate(name, wrong);
    const guesses = [...Array.from({ length: 100 }, () => unique("guess")), "right"];
    const all = await Promise.allSettled(guesses.map((password) => authenticate(name, password)));
    assert.deepEqual([...new Set(all.map(({ status }) => status))], ["rejected"]);
  });

  it("is rejected after failures of many users at one address, whether the users exist or not", async () => {
    const authenticate = fresh();
    for (let user = 0; user < 5; user += 1) await authenticate(unique("nobody"), "x");
    assert.deepEqual(reached, ["address"]);
    await assert.rejects(authenticate(unique("nobody"), "x"), isRejected);
    await assert.rejects(authenticate(await createUser(), "right"), isRejected);
  });

  it("is rejected after failures of one user at many addresses", async () => {
    const authenticate = fresh();
    const name = await createUser();
    for (let host = 1; host <= 7; host += 1) await authenticate(name, "x", `203.0.113.${host}`);
    assert.deepEqual(reached, ["user"]);
    await assert.rejects(authenticate(name, "right"), isRejected);
  });

  it("starts counting again after a success", async () => {
    const authenticate = fresh();
    const name = await createUser();
    for (const password of ["a", "b", "right", "c", "d"]) await authenticate(name, password);
    assert.deepEqual(reached, []);
  });
});

describe("the bootstrap user", () => {
  it("is added with every role, unless the user exists: then nothing changes", async () => {
    const name = unique("bootstrap");
    assert.equal(await addBootstrapUser(users, name, "first"), true);
    assert.deepEqual((await users.find(name))?.roles, everyRole);
    await users.change(name, { active: false, roles: ["another"] });
    const disabled = await users.find(name);
    assert.equal(await addBootstrapUser(users, name, "second"), false);
    assert.deepEqual(await users.find(name), disabled);
  });

  it("is reset on demand: active, with every role and the password of the settings", async () => {
    const name = unique("bootstrap");
    await addBootstrapUser(users, name, "first");
    assert.equal(await resetBootstrapUser(users, name, "first"), false, "unchanged");
    await users.change(name, { active: false, roles: ["another"] });
    assert.equal(await resetBootstrapUser(users, name, "second"), true);
    const repaired = await users.find(name);
    assert.equal(repaired?.active, true);
    assert.deepEqual(repaired.roles, ["another", ...everyRole]);
    assert.equal(await verifyPassword("second", repaired.passwordHash), true);
  });
});
