import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { RateLimiterMemory } from "rate-limiter-flexible";

import { TooManyAttemptsError } from "@topicsync/lib/errors";
import { toNetwork } from "./login-throttle.ts";

/** A session id, an API key or a bearer token that a caller presents. */
export interface Presented {
  readonly secret: string;
  /** IP address of the caller. */
  readonly address: string;
}

/**
 * Counts unknown session ids and keys and forged tokens by network, and rejects further ones unchecked beyond
 * a limit.
 */
export type ForgeryThrottle = ReturnType<typeof createForgeryThrottle>;

/** Failures allowed within five minutes of the first. */
export const maxForgeries = 100;
const windowSeconds = 5 * 60;

const maxRemembered = 10_000;

interface ForgeryThrottleOptions {
  /** Called when the limit is reached, once per window and network. */
  readonly onLimit: (address: string) => void;
}

/**
 * Nobody can guess these secrets; the limit saves look-ups and signature checks. It is separate from that of
 * logins, so that expired sessions keep nobody from signing in again.
 */
export function createForgeryThrottle({ onLimit }: ForgeryThrottleOptions) {
  const limiter = new RateLimiterMemory({ points: maxForgeries, duration: windowSeconds });
  const accepted = new LRUCache<string, true>({ max: maxRemembered, ttl: windowSeconds * 1_000 });
  return {
    /** Throws TooManyAttemptsError, unless the same secret was accepted recently. */
    async check({ secret, address }: Presented): Promise<void> {
      const state = await limiter.get(toNetwork(address));
      if (state === null || state.remainingPoints > 0 || accepted.has(toDigest(secret))) return;
      throw new TooManyAttemptsError(
        "too many unknown sessions or tokens",
        Math.ceil(state.msBeforeNext / 1_000),
      );
    },

    async recordFailure({ address }: Presented): Promise<void> {
      const { consumedPoints } = await limiter.penalty(toNetwork(address));
      if (consumedPoints === maxForgeries) onLimit(address);
    },

    recordSuccess({ secret }: Presented): void {
      accepted.set(toDigest(secret), true);
    },
  };
}

const toDigest = (secret: string): string => hash("sha256", secret, "base64");
