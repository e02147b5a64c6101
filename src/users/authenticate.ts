import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";

import { TooManyAttemptsError } from "../lib/errors.ts";
import type { Hashing } from "./hash-queue.ts";
import { toNetwork } from "./network.ts";
import { computePadding, effortToVerify, padding, verifyPassword } from "./password.ts";
import type { LoginThrottle } from "./login-throttle.ts";
import type { StoredUser, User, UserStore } from "./user.ts";

/** A user's name and password, and the network address that they were sent from. */
export interface Credentials {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/**
 * Checks credentials; undefined when they are wrong or the user is not active. What is remembered is given at once.
 * Throws TooManyAttemptsError, OverloadedError and UnavailableError.
 */
export type Authenticate = (credentials: Credentials) => User | Promise<User | undefined>;

export interface AuthenticateOptions {
  readonly users: Pick<UserStore, "find">;
  readonly throttle: LoginThrottle;
  readonly hashing: Hashing;
  readonly clock?: () => number;
}

/** A changed or deactivated user is refused within 30 s (contract, section 3): looked at again after half of that. */
const freshForMs = 15_000;
/** A verified credential is remembered no longer (contract, section 3); then a hash is computed again. */
const rememberedForMs = 5 * 60_000;
/** After so many refused guesses at a user from a network, what is remembered of both no longer counts. */
const maxRefusedGuesses = 100;
const maxRemembered = 10_000;

/** A credential that was verified. */
interface Verified {
  /** Of name and password. */
  readonly digest: string;
  readonly passwordHash: string;
  user: User;
  /** When the user's record was read. */
  readAt: number;
  /** Other passwords that the throttle refused, and those that are being checked: simultaneous guesses count together. */
  guesses: number;
}

/**
 * Makes the check of credentials. The memory-hard hash is computed once in five minutes for a user, a password and a network;
 * meanwhile the user's record is read again every 15 s, and the hash is trusted while the record still carries the one that was
 * verified. Passwords are remembered as digests under a key of this process.
 *
 * Invariant: only a credential that is remembered for the caller's own network passes without the throttle, so a 429 does
 * not tell right passwords from wrong ones.
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { users, throttle, hashing, clock = () => performance.now() } = options;
  const key = randomBytes(32).toString("base64");
  const verified = new LRUCache<string, Verified>({
    max: maxRemembered,
    ttl: rememberedForMs,
    ttlResolution: 0,
    perf: { now: clock },
  });
  /** Checks under way, so that many requests at once pay for one hash. */
  const running = new Map<string, Promise<User | undefined>>();
  const verify = createVerify();

  function findRemembered(place: string, digest: string): Verified | undefined {
    const entry = verified.get(place);
    return entry?.digest === digest && entry.guesses < maxRefusedGuesses ? entry : undefined;
  }

  /** Looks whether what was verified before still holds; undefined when it does not. */
  async function renew(place: string, entry: Verified): Promise<User | undefined> {
    const readAt = clock();
    const stored = await users.find(entry.user.name);
    if (stored?.active === true && stored.passwordHash === entry.passwordHash) {
      entry.user = withoutHash(stored);
      entry.readAt = readAt;
      return entry.user;
    }
    if (verified.peek(place) === entry) verified.delete(place);
    return undefined;
  }

  async function logIn(place: string, digest: string, credentials: Credentials): Promise<User | undefined> {
    const { name, password } = credentials;
    const { clean } = await throttle.check(credentials);
    return hashing.run(clean, async () => {
      // Those before it in the line may have failed.
      await throttle.check(credentials);
      const readAt = clock();
      const stored = await users.find(name);
      const correct = await verify(password, stored?.passwordHash);
      if (!correct || stored?.active !== true) {
        await throttle.failed(credentials);
        return undefined;
      }
      await throttle.succeeded(credentials);
      const user = withoutHash(stored);
      verified.set(place, { digest, passwordHash: stored.passwordHash, user, readAt, guesses: 0 });
      return user;
    });
  }

  /** Logs in with another password than the remembered one. */
  async function guess(entry: Verified, work: () => Promise<User | undefined>): Promise<User | undefined> {
    entry.guesses += 1;
    try {
      const user = await work();
      entry.guesses -= 1;
      return user;
    } catch (error) {
      if (!(error instanceof TooManyAttemptsError)) entry.guesses -= 1;
      throw error;
    }
  }

  async function check(place: string, digest: string, credentials: Credentials): Promise<User | undefined> {
    const entry = findRemembered(place, digest);
    const user = entry && (await renew(place, entry));
    if (user !== undefined) return user;
    const attempt = (): Promise<User | undefined> => logIn(place, digest, credentials);
    const other = verified.peek(place);
    return other === undefined ? attempt() : guess(other, attempt);
  }

  return (credentials) => {
    const { name, password, address } = credentials;
    const place = `${toNetwork(address)} ${name}`;
    const digest = hash("sha256", key + JSON.stringify([name, password]), "base64");
    const entry = findRemembered(place, digest);
    if (entry !== undefined && clock() - entry.readAt < freshForMs) return entry.user;
    const attempt = `${digest} ${place}`;
    const already = running.get(attempt);
    if (already !== undefined) return already;
    const checking = check(place, digest, credentials).finally(() => running.delete(attempt));
    running.set(attempt, checking);
    return checking;
  };
}

const withoutHash = ({ name, roles, active }: StoredUser): User => ({ name, roles, active });

/**
 * Makes the check of a password that takes the same time whether there is a user or not, and whatever their hash costs:
 * as much as the costliest one that was seen.
 */
function createVerify(): (password: string, stored: string | undefined) => Promise<boolean> {
  let effort = effortToVerify(undefined);
  return async (password, stored) => {
    effort = Math.max(effort, effortToVerify(stored));
    const besides = padding(stored, effort);
    const correct = stored !== undefined && (await verifyPassword(password, stored));
    if (besides !== undefined) await computePadding(password, besides);
    return correct;
  };
}
