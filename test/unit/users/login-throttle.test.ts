import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TooManyAttemptsError } from "../../../src/lib/errors.ts";
import { createLoginThrottle, type Attempt, type LoginLimit } from "../../../src/users/login-throttle.ts";

const open = () => {
  const reached: LoginLimit[] = [];
  return { reached, throttle: createLoginThrottle({ reached: (limit) => reached.push(limit) }) };
};

const refused = (error: unknown): boolean => {
  assert.ok(error instanceof TooManyAttemptsError);
  assert.ok(error.retryAfterSeconds > 200 && error.retryAfterSeconds <= 300, "within five minutes");
  return true;
};

describe("failed logins", () => {
  for (const [limit, most, attemptAt, next] of [
    [
      "userAtAddress",
      10,
      () => ({ name: "ann", address: "192.0.2.1" }),
      { name: "ann", address: "192.0.2.1" },
    ],
    [
      "address",
      100,
      (at: number) => ({ name: `user ${at}`, address: "192.0.2.1" }),
      { name: "another", address: "192.0.2.1" },
    ],
    [
      "user",
      100,
      (at: number) => ({ name: "ann", address: `192.0.2.${at}` }),
      { name: "ann", address: "198.51.100.1" },
    ],
  ] as const satisfies readonly [LoginLimit, number, (at: number) => Attempt, Attempt][]) {
    it(`are refused beyond ${most} of the kind ${limit}, for up to five minutes, which is told once`, async () => {
      const { throttle, reached } = open();
      for (let at = 0; at < most; at += 1) {
        await throttle.check(next);
        await throttle.failed(attemptAt(at));
      }
      await assert.rejects(throttle.check(next), refused);
      await throttle.failed(attemptAt(most));
      assert.deepEqual(reached, [limit]);
    });
  }

  it("make an address one that has to wait behind those without a failure", async () => {
    const { throttle } = open();
    const [here, elsewhere] = ["192.0.2.1", "198.51.100.1"];
    await throttle.failed({ name: "ann", address: here });
    assert.deepEqual(await throttle.check({ name: "ben", address: here }), { clean: false });
    assert.deepEqual(await throttle.check({ name: "ann", address: elsewhere }), { clean: true });
  });
});
