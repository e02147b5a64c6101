import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";

import { TooManyAttemptsError } from "@topicsync/lib/errors";
import { createSingleFlight } from "@topicsync/lib/concurrency/single-flight";
import type { HashQueue } from "./hash-queue.ts";
import { toNetwork, type LoginThrottle } from "./login-throttle.ts";
import { verifyPassword } from "./password.ts";
import type { StoredUser, User, UserStore } from "./user.ts";

interface Credentials {
  readonly name: string;
  readonly password: string;
  /** IP address of the caller. */
  readonly address: string;
}

export type Authenticate = Authenticator["authenticate"];

export type AuthenticateAfresh = Authenticator["authenticateAfresh"];

interface AuthenticateOptions {
  readonly users: Pick<UserStore, "find">;
  readonly throttle: LoginThrottle;
  readonly hashQueue: HashQueue;
  readonly clock?: () => number;
}

/** Half of the 30 s within which a changed or disabled user is rejected (contract, section 3). */
const recordTtlMs = 15_000;
/** How long a verified credential may be remembered (contract, section 3). */
const credentialTtlMs = 5 * 60_000;
/** After this many rejected guesses at a user from a network, the remembered credential is dropped. */
const maxRejectedGuesses = 100;
const maxRemembered = 10_000;

interface VerifiedCredential {
  /** Keyed digest of name and password. */
  readonly digest: string;
  readonly passwordHash: string;
  user: User;
  /** When the user record was last read. */
  readAt: number;
  /**
   * Other passwords that the throttle rejected or that are being checked, so that simultaneous guesses count.
   */
  guesses: number;
}

export function createAuthenticate(options: AuthenticateOptions) {
  const authenticator = new Authenticator(options);
  return {
    verify: (credentials: Credentials) => authenticator.authenticate(credentials),
    verifyAfresh: (credentials: Credentials) => authenticator.authenticateAfresh(credentials),
  };
}

/**
 * Checks a hash once in five minutes per user, password and network. In between, the user record is read
 * every 15 s, and the credential holds while the record carries the same hash. Passwords are remembered as
 * digests under a per-process key. Only one that is remembered for the caller's own network bypasses the
 * throttle, so a 429 does not reveal whether a password is right.
 */
class Authenticator {
  readonly #users: AuthenticateOptions["users"];
  readonly #throttle: LoginThrottle;
  readonly #hashQueue: HashQueue;
  readonly #clock: () => number;
  readonly #key = randomBytes(32).toString("base64");
  readonly #verified: LRUCache<string, VerifiedCredential>;
  /** By caller and digest: concurrent requests share one hash. */
  readonly #shareCheck = createSingleFlight<User | undefined>();

  constructor({ users, throttle, hashQueue, clock = () => performance.now() }: AuthenticateOptions) {
    this.#users = users;
    this.#throttle = throttle;
    this.#hashQueue = hashQueue;
    this.#clock = clock;
    this.#verified = new LRUCache({
      max: maxRemembered,
      ttl: credentialTtlMs,
      ttlResolution: 0,
      perf: { now: clock },
    });
  }

  /**
   * Checks credentials; undefined when they are wrong or the user is not active. Returns remembered
   * credentials synchronously. Throws TooManyAttemptsError, OverloadedError and UnavailableError.
   */
  authenticate(credentials: Credentials): User | Promise<User | undefined> {
    const { caller, digest } = this.#identify(credentials);
    const entry = this.#findRemembered(caller, digest);
    if (entry !== undefined && this.#clock() - entry.readAt < recordTtlMs) return entry.user;
    return this.#shareCheck(`${digest} ${caller}`, () => this.#check(caller, digest, credentials));
  }

  /**
   * The same, but reads the user after the call, whatever is remembered: for what outlasts the request, such
   * as a session or a new password. Bind it to the returned hash.
   */
  async authenticateAfresh(credentials: Credentials): Promise<StoredUser | undefined> {
    const { caller, digest } = this.#identify(credentials);
    const readAgain = async (): Promise<StoredUser | undefined> => {
      const entry = this.#findRemembered(caller, digest);
      if (entry === undefined) return undefined;
      const user = await this.#refresh(caller, entry);
      return user && { ...user, passwordHash: entry.passwordHash };
    };
    const known = await readAgain();
    if (known !== undefined) return known;
    const check = (): Promise<User | undefined> => this.#check(caller, digest, credentials);
    // It may be shared with an earlier request, or compute a hash that was replaced meanwhile.
    return (await this.#shareCheck(`${digest} ${caller}`, check)) && readAgain();
  }

  #identify({ name, password, address }: Credentials): { readonly caller: string; readonly digest: string } {
    return {
      caller: `${toNetwork(address)} ${name}`,
      digest: hash("sha256", this.#key + JSON.stringify([name, password]), "base64"),
    };
  }

  #findRemembered(caller: string, digest: string): VerifiedCredential | undefined {
    const entry = this.#verified.get(caller);
    return entry?.digest === digest && entry.guesses < maxRejectedGuesses ? entry : undefined;
  }

  async #check(caller: string, digest: string, credentials: Credentials): Promise<User | undefined> {
    const entry = this.#findRemembered(caller, digest);
    const user = entry && (await this.#refresh(caller, entry));
    if (user !== undefined) return user;
    const attempt = (): Promise<User | undefined> => this.#logIn(caller, digest, credentials);
    const other = this.#verified.peek(caller);
    return other === undefined ? attempt() : countGuess(other, attempt);
  }

  /** Reads the user record again; undefined when the credential no longer holds. */
  async #refresh(caller: string, entry: VerifiedCredential): Promise<User | undefined> {
    const readAt = this.#clock();
    const stored = await this.#users.find(entry.user.name);
    if (stored?.active === true && stored.passwordHash === entry.passwordHash) {
      entry.user = withoutHash(stored);
      entry.readAt = readAt;
      return entry.user;
    }
    if (this.#verified.peek(caller) === entry) this.#verified.delete(caller);
    return undefined;
  }

  async #logIn(caller: string, digest: string, credentials: Credentials): Promise<User | undefined> {
    const { name, password } = credentials;
    const { clean } = await this.#throttle.check(credentials);
    return this.#hashQueue.run(clean ? "first" : "last", async () => {
      // Attempts ahead in the queue may have failed.
      await this.#throttle.check(credentials);
      const readAt = this.#clock();
      const stored = await this.#users.find(name);
      const isCorrect = await verifyPassword(password, stored?.passwordHash);
      if (!isCorrect || stored?.active !== true) {
        await this.#throttle.recordFailure(credentials);
        return undefined;
      }
      await this.#throttle.recordSuccess(credentials);
      const user = withoutHash(stored);
      this.#verified.set(caller, { digest, passwordHash: stored.passwordHash, user, readAt, guesses: 0 });
      return user;
    });
  }
}

/** Runs a login with another password than the remembered one. */
async function countGuess(
  entry: VerifiedCredential,
  attempt: () => Promise<User | undefined>,
): Promise<User | undefined> {
  entry.guesses += 1;
  try {
    const user = await attempt();
    entry.guesses -= 1;
    return user;
  } catch (error) {
    if (!(error instanceof TooManyAttemptsError)) entry.guesses -= 1;
    throw error;
  }
}

export const withoutHash = ({ name, roles, active }: StoredUser): User => ({ name, roles, active });
