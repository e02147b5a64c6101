import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TooManyAttemptsError } from "@topicsync/lib/errors";
import {
  createLoginThrottle,
  toNetwork,
  type Attempt,
  type LoginLimit,
} from "../../../src/users/login-throttle.ts";

const createThrottle = () => {
  const reached: LoginLimit[] = [];
  return { reached, throttle: createLoginThrottle({ onLimit: (limit) => reached.push(limit) }) };
};

const isRejected = (error: unknown): boolean => {
  assert.ok(error instanceof TooManyAttemptsError);
  assert.ok(error.retryAfterSeconds > 200 && error.retryAfterSeconds <= 300, "within five minutes");
  return true;
};

describe("failed logins", () => {
  for (const [limit, count, attemptAt, next] of [
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
    it(`are rejected beyond ${count} of the kind ${limit}, for up to five minutes, and reported once`, async () => {
      const { throttle, reached } = createThrottle();
      for (let at = 0; at < count; at += 1) {
        await throttle.check(next);
        await throttle.recordFailure(attemptAt(at));
      }
      await assert.rejects(throttle.check(next), isRejected);
      await throttle.recordFailure(attemptAt(count));
      assert.deepEqual(reached, [limit]);
    });
  }

  it("mark a network as not clean", async () => {
    const { throttle } = createThrottle();
    const [here, elsewhere] = ["192.0.2.1", "198.51.100.1"];
    await throttle.recordFailure({ name: "ann", address: here });
    assert.deepEqual(await throttle.check({ name: "ben", address: here }), { clean: false });
    assert.deepEqual(await throttle.check({ name: "ann", address: elsewhere }), { clean: true });
  });
});

it("counts an IPv4 address, or the /64 of an IPv6 address, as one caller", () => {
  for (const [address, network] of [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:0001:2::6", "2001:db8:1:2::/64"],
    ["2001:db8::6", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["", ""],
  ] as const) {
    assert.equal(toNetwork(address), network, address);
  }
});
