import { hash } from "node:crypto";
import { RateLimiterMemory } from "rate-limiter-flexible";

import { TooManyAttemptsError } from "../lib/errors.ts";
import { toNetwork } from "./network.ts";

/** Who tries to log in, and from where. */
export interface Attempt {
  readonly name: string;
  /** Network address. */
  readonly address: string;
}

/** Counts failed logins, and refuses further ones where too many failed. */
export interface LoginThrottle {
  /** Whether nothing failed lately from the attempt's address. Throws TooManyAttemptsError. */
  check(attempt: Attempt): Promise<{ readonly clean: boolean }>;
  /** A check of credentials failed. */
  failed(attempt: Attempt): Promise<void>;
  /** A check of credentials succeeded: what this user mistyped here is forgotten. */
  succeeded(attempt: Attempt): Promise<void>;
}

/**
 * So many logins may fail within five minutes from the first one on. The tight limit is for a user at an address, so that
 * who attacks a user from elsewhere does not lock them out; the wide ones stop those who try many users, or come from
 * many addresses.
 */
export const loginLimits = { userAtAddress: 10, address: 100, user: 100 } as const;
const windowSeconds = 5 * 60;

export type LoginLimit = keyof typeof loginLimits;

export interface LoginThrottleOptions {
  /** Told when a limit is reached, once in its window. */
  readonly reached: (limit: LoginLimit, attempt: Attempt) => void;
  readonly limits?: Readonly<Record<LoginLimit, number>>;
}

/**
 * Makes the throttle. It remembers failures only, each of which cost a hash: so its memory is bounded by the number of
 * hashes that can be computed in five minutes.
 */
export function createLoginThrottle({ reached, limits = loginLimits }: LoginThrottleOptions): LoginThrottle {
  const limiterOf = (limit: LoginLimit): RateLimiterMemory =>
    new RateLimiterMemory({ points: limits[limit], duration: windowSeconds });
  const limiters = {
    userAtAddress: limiterOf("userAtAddress"),
    address: limiterOf("address"),
    user: limiterOf("user"),
  };

  return {
    async check(attempt) {
      const keys = keysOf(attempt);
      const [atAddress, address, user] = await Promise.all([
        limiters.userAtAddress.get(keys.userAtAddress),
        limiters.address.get(keys.address),
        limiters.user.get(keys.user),
      ]);
      const waits = [atAddress, address, user].map((state) =>
        state === null || state.remainingPoints > 0 ? 0 : state.msBeforeNext,
      );
      const waitMs = Math.max(...waits);
      if (waitMs > 0) {
        throw new TooManyAttemptsError("too many logins failed lately", Math.ceil(waitMs / 1_000));
      }
      return { clean: address === null };
    },

    async failed(attempt) {
      const keys = keysOf(attempt);
      for (const limit of ["userAtAddress", "address", "user"] as const) {
        const { consumedPoints } = await limiters[limit].penalty(keys[limit]);
        if (consumedPoints === limits[limit]) reached(limit, attempt);
      }
    },

    async succeeded(attempt) {
      await limiters.userAtAddress.delete(keysOf(attempt).userAtAddress);
    },
  };
}

/** Names are kept as digests: whoever sends long ones fills no memory. */
function keysOf({ name, address }: Attempt): Readonly<Record<LoginLimit, string>> {
  const user = hash("sha256", name, "base64");
  const network = toNetwork(address);
  return { userAtAddress: `${user} ${network}`, address: network, user };
}
