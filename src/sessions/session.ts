import { createHash, randomBytes } from "node:crypto";

import type { User, UserStore } from "../users/user.ts";

/** A session of the console. */
export interface Session {
  /** The value of the session cookie: 32 random bytes, in base64url. */
  readonly id: string;
  readonly user: User;
  /** Must accompany each request that changes something; pages of other origins cannot read it. */
  readonly csrfToken: string;
  readonly expiresOn: Date;
}

/** A session as stored: it contains neither the id nor the CSRF token. */
export interface StoredSession {
  /** SHA-256 of the session id, in base64url. */
  readonly digest: string;
  readonly user: string;
  readonly basis: SessionBasis;
  readonly createdOn: Date;
  readonly expiresOn: Date;
}

/** What must stay true for a session to remain valid. */
export type SessionBasis =
  /** Digest of the stored user's password hash; it ends with a change of the password. */
  | { readonly passwordDigest: string }
  /** The OpenID provider, and the roles it granted at sign-in. */
  | { readonly issuer: string; readonly roles: readonly string[] };

/** Every function throws UnavailableError. */
export interface SessionStore {
  insert(session: StoredSession): Promise<void>;
  find(digest: string): Promise<StoredSession | undefined>;
  remove(digest: string): Promise<void>;
  /** Removes every session of a user. */
  removeAll(user: string): Promise<void>;
}

/** The sessions of the console. Every function throws UnavailableError. */
export interface Sessions {
  /** Begins a session for a user whose credentials were just checked; undefined if the user has been disabled since. */
  begin(user: string): Promise<Session | undefined>;
  /** Begins a session for a user of the OpenID provider. */
  beginFederated(user: User, issuer: string): Promise<Session>;
  /** Returns a valid session; undefined when it is unknown or expired, or its user may no longer sign in. */
  find(id: string): Promise<Session | undefined>;
  end(session: Session): Promise<void>;
}

/** 12 hours. */
const sessionTtlMs = 12 * 60 * 60 * 1_000;
/** 8 hours: until then, changes of the user at the provider go unnoticed. */
const federatedTtlMs = 8 * 60 * 60 * 1_000;

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly users: Pick<UserStore, "find">;
  /** The configured OpenID provider; sessions of another one are invalid. */
  readonly issuer?: string | undefined;
  readonly now?: () => Date;
}

/**
 * Reads the session and its user for each request, so that signing out, a new password and a revoked role take effect at once
 * on every instance.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const { store, users, issuer, now = () => new Date() } = options;

  async function insert(user: User, basis: SessionBasis, ttlMs: number): Promise<Session> {
    const id = randomBytes(32).toString("base64url");
    const createdOn = now();
    const expiresOn = new Date(createdOn.getTime() + ttlMs);
    await store.insert({ digest: digest(id), user: user.name, basis, createdOn, expiresOn });
    return toSession(id, user, expiresOn);
  }

  async function findUser({
    user: name,
    basis,
  }: Pick<StoredSession, "user" | "basis">): Promise<User | undefined> {
    if ("issuer" in basis)
      return basis.issuer === issuer ? { name, roles: basis.roles, active: true } : undefined;
    const user = await users.find(name);
    if (user?.active !== true) return undefined;
    return digest(user.passwordHash) === basis.passwordDigest ? user : undefined;
  }

  return {
    async begin(name) {
      const user = await users.find(name);
      if (user?.active !== true) return undefined;
      const basis = { passwordDigest: digest(user.passwordHash) };
      const session = await insert(user, basis, sessionTtlMs);
      // The user may have been disabled, and the sessions removed, before this one was inserted.
      if ((await findUser({ user: name, basis })) !== undefined) return session;
      await store.remove(digest(session.id));
      return undefined;
    },

    beginFederated: (user, signedInAt) =>
      insert(user, { issuer: signedInAt, roles: user.roles }, federatedTtlMs),

    async find(id) {
      const stored = await store.find(digest(id));
      if (stored === undefined || stored.expiresOn <= now()) return undefined;
      const user = await findUser(stored);
      return user && toSession(id, user, stored.expiresOn);
    },

    end: ({ id }) => store.remove(digest(id)),
  };
}

/** The CSRF token is derived from the id, which scripts cannot read, so it need not be stored. */
const toSession = (id: string, { name, roles, active }: User, expiresOn: Date): Session => ({
  id,
  user: { name, roles, active },
  csrfToken: digest(`csrf ${id}`),
  expiresOn,
});

/** SHA-256, in base64url: 43 letters, digits, `-` and `_`. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");
