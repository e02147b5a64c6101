import { hash } from "node:crypto";

import ipaddr from "ipaddr.js";
import { RateLimiterMemory } from "rate-limiter-flexible";

import { TooManyAttemptsError } from "@topicsync/lib/errors";

export interface Attempt {
  readonly name: string;
  /** IP address of the caller. */
  readonly address: string;
}

/** Counts failed logins and rejects further attempts beyond a limit. */
export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/**
 * Failures allowed within five minutes of the first. The tight limit applies to one user at one address, so
 * that an attack from elsewhere does not lock the user out; the wide ones stop attacks on many users or from
 * many addresses.
 */
const loginLimits = { userAtAddress: 10, address: 100, user: 100 } as const;
const windowSeconds = 5 * 60;

export type LoginLimit = keyof typeof loginLimits;

interface LoginThrottleOptions {
  /** Called when a limit is reached, once per window. */
  readonly onLimit: (limit: LoginLimit, attempt: Attempt) => void;
  readonly limits?: Readonly<Record<LoginLimit, number>>;
}

/**
 * Keeps failures only. Each of them cost a hash, so memory is bounded by the hashes computed in five minutes.
 */
export function createLoginThrottle({ onLimit, limits = loginLimits }: LoginThrottleOptions) {
  const createLimiter = (limit: LoginLimit): RateLimiterMemory =>
    new RateLimiterMemory({ points: limits[limit], duration: windowSeconds });
  const limiters = {
    userAtAddress: createLimiter("userAtAddress"),
    address: createLimiter("address"),
    user: createLimiter("user"),
  };

  return {
    /** Returns whether no login from this network failed recently. Throws TooManyAttemptsError. */
    async check(attempt: Attempt): Promise<{ readonly clean: boolean }> {
      const keys = toKeys(attempt);
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
        throw new TooManyAttemptsError("too many failed logins", Math.ceil(waitMs / 1_000));
      }
      return { clean: address === null };
    },

    async recordFailure(attempt: Attempt): Promise<void> {
      const keys = toKeys(attempt);
      for (const limit of ["userAtAddress", "address", "user"] as const) {
        const { consumedPoints } = await limiters[limit].penalty(keys[limit]);
        if (consumedPoints === limits[limit]) onLimit(limit, attempt);
      }
    },

    /** Clears the failures of this user at this address. */
    async recordSuccess(attempt: Attempt): Promise<void> {
      await limiters.userAtAddress.delete(toKeys(attempt).userAtAddress);
    },
  };
}

/** Names are kept as digests, so that long ones do not fill memory. */
function toKeys({ name, address }: Attempt): Readonly<Record<LoginLimit, string>> {
  const user = hash("sha256", name, "base64");
  const network = toNetwork(address);
  return { userAtAddress: `${user} ${network}`, address: network, user };
}

/**
 * Maps an IP address to what counts as one caller: the IPv4 address, or the /64 of an IPv6 address (RFC
 * 6177).
 */
export function toNetwork(address: string): string {
  // Fast path: this runs for every request, and most addresses are IPv4.
  if (!address.includes(":") || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
