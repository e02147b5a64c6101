import assert from "node:assert/strict";
import { it } from "node:test";

import { TooManyAttemptsError } from "@topicsync/lib/errors";
import { createForgeryThrottle, maxForgeries } from "../../../src/users/forgery-throttle.ts";

it("rejects further secrets of a network after a hundred failures, except those that it accepted", async () => {
  const limited: string[] = [];
  const throttle = createForgeryThrottle({ onLimit: (address) => limited.push(address) });
  const address = "192.0.2.1";
  throttle.recordSuccess({ secret: "known", address });
  for (let failure = 1; failure <= maxForgeries; failure += 1) {
    const presented = { secret: `forged ${failure}`, address };
    await throttle.check(presented);
    await throttle.recordFailure(presented);
  }
  await assert.rejects(throttle.check({ secret: "another", address }), TooManyAttemptsError);
  await throttle.check({ secret: "known", address });
  await throttle.check({ secret: "another", address: "192.0.2.2" });
  assert.deepEqual(limited, [address]);
});
