import { createHash, randomBytes } from "node:crypto";

import type { User, UserStore } from "../users/user.ts";

/** Somebody who signed in on the console and has not signed out. */
export interface Session {
  /** What the browser shows to be let in: 32 random bytes, in base64url. */
  readonly id: string;
  readonly user: User;
  /** What a page of ours knows and a stranger's does not: it goes with each request that changes something. */
  readonly csrfToken: string;
  readonly expiresOn: Date;
}

/** A session as it is stored. Whoever reads it can neither sign in with it nor forge requests. */
export interface StoredSession {
  /** SHA-256 of the session's id, in base64url. */
  readonly digest: string;
  readonly user: string;
  readonly ground: SessionBasis;
  readonly createdOn: Date;
  readonly expiresOn: Date;
}

/** What a session rests upon. */
export type SessionBasis =
  /** Of a stored user's password hash as it was when the session began; it must still be the user's. */
  | { readonly passwordDigest: string }
  /** An OpenID provider and the roles that it gave: only signing in anew tells of others. */
  | { readonly issuer: string; readonly roles: readonly string[] };

/** Where sessions are kept. Every function throws UnavailableError. */
export interface SessionStore {
  insert(session: StoredSession): Promise<void>;
  find(digest: string): Promise<StoredSession | undefined>;
  remove(digest: string): Promise<void>;
  /** Removes every session of a user. */
  removeAll(user: string): Promise<void>;
}

/** Sessions of the console. Every function throws UnavailableError. */
export interface Sessions {
  /** Begins a session of a user whose credentials were just checked; undefined when the user is gone since. */
  begin(user: string): Promise<Session | undefined>;
  /** Begins a session of a user for whom the OpenID provider answers. */
  beginAs(user: User, issuer: string): Promise<Session>;
  /** The session of this id; undefined when there is none, it is over, or its user may not sign in any more. */
  find(id: string): Promise<Session | undefined>;
  end(session: Session): Promise<void>;
}

/** A working day and a bit: whoever is called at night signs in anew. */
const lifetimeMs = 12 * 60 * 60 * 1_000;
/** A working day: for so long nobody asks the provider whether somebody is still there, and what they may do. */
const vouchedLifetimeMs = 8 * 60 * 60 * 1_000;

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly users: Pick<UserStore, "find">;
  /** The OpenID provider by which people sign in; what another one said counts no more. */
  readonly issuer?: string | undefined;
  readonly now?: () => Date;
}

/**
 * Makes the sessions. Both the session and its user are read for each request, so that signing out, another password and a
 * lost role count at once on every instance; a page asks too seldom for this to cost anything.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const { store, users, issuer, now = () => new Date() } = options;

  async function insert(user: User, ground: SessionBasis, lifetime: number): Promise<Session> {
    const id = randomBytes(32).toString("base64url");
    const createdOn = now();
    const expiresOn = new Date(createdOn.getTime() + lifetime);
    await store.insert({ digest: digest(id), user: user.name, ground, createdOn, expiresOn });
    return sessionOf(id, user, expiresOn);
  }

  async function userOf({
    user: name,
    ground,
  }: Pick<StoredSession, "user" | "ground">): Promise<User | undefined> {
    if ("issuer" in ground)
      return ground.issuer === issuer ? { name, roles: ground.roles, active: true } : undefined;
    const user = await users.find(name);
    if (user?.active !== true) return undefined;
    return digest(user.passwordHash) === ground.passwordDigest ? user : undefined;
  }

  return {
    async begin(name) {
      const user = await users.find(name);
      if (user?.active !== true) return undefined;
      const ground = { passwordDigest: digest(user.passwordHash) };
      const session = await insert(user, ground, lifetimeMs);
      // Disabling a user removes the sessions that are stored by then; this one may have come after that.
      if ((await userOf({ user: name, ground })) !== undefined) return session;
      await store.remove(digest(session.id));
      return undefined;
    },

    beginAs: (user, answering) => insert(user, { issuer: answering, roles: user.roles }, vouchedLifetimeMs),

    async find(id) {
      const stored = await store.find(digest(id));
      if (stored === undefined || stored.expiresOn <= now()) return undefined;
      const user = await userOf(stored);
      return user && sessionOf(id, user, stored.expiresOn);
    },

    end: ({ id }) => store.remove(digest(id)),
  };
}

/** The token follows from the id, which no script can read: so it need not be stored, and every page gets the same. */
const sessionOf = (id: string, { name, roles, active }: User, expiresOn: Date): Session => ({
  id,
  user: { name, roles, active },
  csrfToken: digest(`csrf ${id}`),
  expiresOn,
});

/** SHA-256, in base64url: 43 letters, digits, `-` and `_`. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");
