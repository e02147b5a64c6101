import { createHash, randomBytes } from "node:crypto";

import { SignInError } from "./openid.ts";
import type { IsBeingErased, StoredUser, User, UserStore } from "./user.ts";

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
  /** Moves on while the session is used. */
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
  /** The sessions of a user, the newest first, at most 200. */
  list(user: string): Promise<StoredSession[]>;
  /** Sets when the session expires. */
  extend(digest: string, expiresOn: Date): Promise<void>;
  remove(digest: string): Promise<void>;
  /** Removes every session of a user, except one if its digest is given. */
  removeAll(user: string, exceptDigest?: string): Promise<void>;
}

/** The sessions of the console. Every function throws UnavailableError. */
export type Sessions = ReturnType<typeof createSessions>;

/** A session as its user sees it. */
export interface OpenSession {
  /** Names the session, and is of no use for signing in. */
  readonly key: string;
  readonly startedOn: Date;
  readonly expiresOn: Date;
}

/** 12 hours. */
const sessionTtlMs = 12 * 60 * 60 * 1_000;
/** 8 hours: until then, changes of the user at the provider go unnoticed. */
const federatedTtlMs = 8 * 60 * 60 * 1_000;
/** 2 hours. An open page of the console uses its session all the time. */
const idleTtlMs = 2 * 60 * 60 * 1_000;
/** Using a session writes at most once in this time. */
const extendAfterMs = 5 * 60 * 1_000;
/** Beyond these, the oldest session ends when a new one starts. */
const maxSessionsPerUser = 20;

interface SessionsOptions {
  readonly store: SessionStore;
  readonly users: Pick<UserStore, "find">;
  /** The configured OpenID provider; sessions of another one are invalid. */
  readonly issuer?: string | undefined;
  /** Of the users of the provider; a stored user is disabled then. */
  readonly isBeingErased?: IsBeingErased;
  readonly now?: () => Date;
}

/**
 * Reads the session and its user for each request, so that signing out, a new password and a revoked role
 * take effect at once on every instance.
 */
export function createSessions(options: SessionsOptions) {
  const { store, users, issuer, isBeingErased = () => false, now = () => new Date() } = options;

  async function insert(user: User, basis: SessionBasis): Promise<Session> {
    const id = randomBytes(32).toString("base64url");
    const createdOn = now();
    const ends = { createdOn, basis };
    await store.insert({
      ...{ digest: digest(id), user: user.name, basis, createdOn },
      expiresOn: toIdleEnd(ends, createdOn),
    });
    const surplus = (await store.list(user.name)).slice(maxSessionsPerUser);
    await Promise.all(surplus.map((one) => store.remove(one.digest)));
    return toSession(id, user, toEnd(ends));
  }

  async function findUser({
    user: name,
    basis,
  }: Pick<StoredSession, "user" | "basis">): Promise<User | undefined> {
    if ("issuer" in basis)
      return basis.issuer === issuer && !(await isBeingErased(name))
        ? { name, roles: basis.roles, active: true }
        : undefined;
    const user = await users.find(name);
    if (user?.active !== true) return undefined;
    return digest(user.passwordHash) === basis.passwordDigest ? user : undefined;
  }

  return {
    /**
     * Begins a session for a user whose password was checked against this hash; undefined if it has changed
     * or the user has been disabled since.
     */
    async begin(user: StoredUser): Promise<Session | undefined> {
      const basis = { passwordDigest: digest(user.passwordHash) };
      const session = await insert(user, basis);
      // Before it was inserted, the user may have been disabled, or the password and the sessions replaced.
      if ((await findUser({ user: user.name, basis })) !== undefined) return session;
      await store.remove(digest(session.id));
      return undefined;
    },

    /** Begins a session for a user of the OpenID provider; a SignInError for one who is being erased. */
    async beginFederated(user: User, signedInAt: string): Promise<Session> {
      if (await isBeingErased(user.name)) throw new SignInError("rejected", "the user is being erased");
      return insert(user, { issuer: signedInAt, roles: user.roles });
    },

    /** A valid session; undefined when it is unknown or expired, or its user may no longer sign in. */
    async find(id: string): Promise<Session | undefined> {
      const stored = await store.find(digest(id));
      if (stored === undefined || stored.expiresOn <= now()) return undefined;
      const user = await findUser(stored);
      if (user === undefined) return undefined;
      const idleEnd = toIdleEnd(stored, now());
      if (idleEnd.getTime() - stored.expiresOn.getTime() > extendAfterMs)
        await store.extend(stored.digest, idleEnd);
      return toSession(id, user, toEnd(stored));
    },

    /** The open sessions of a user, the newest first. */
    async list(user: string): Promise<OpenSession[]> {
      const stored = await store.list(user);
      return stored
        .filter(({ expiresOn }) => expiresOn > now())
        .map(({ digest: key, createdOn, expiresOn }) => ({ key, startedOn: createdOn, expiresOn }));
    },

    /** Ends one session of a user; false if there is none of this key. */
    async endOne(user: string, key: string): Promise<boolean> {
      const stored = await store.find(key);
      if (stored?.user !== user) return false;
      await store.remove(key);
      return true;
    },

    end: ({ id }: Session): Promise<void> => store.remove(digest(id)),
    /** Ends all sessions of a user, or all but one. */
    endAll: (user: string, except?: Session): Promise<void> =>
      store.removeAll(user, except && digest(except.id)),
  };
}

type Beginning = Pick<StoredSession, "createdOn" | "basis">;

/** When a session ends even if it is used. */
const toEnd = ({ createdOn, basis }: Beginning): Date =>
  new Date(createdOn.getTime() + ("issuer" in basis ? federatedTtlMs : sessionTtlMs));

/** When a session ends unless it is used again. */
const toIdleEnd = (session: Beginning, usedOn: Date): Date =>
  new Date(Math.min(usedOn.getTime() + idleTtlMs, toEnd(session).getTime()));

/** The key of a session, by which its user can end it. */
export const toSessionKey = ({ id }: Pick<Session, "id">): string => digest(id);

/** The CSRF token is derived from the id, which scripts cannot read, so it need not be stored. */
const toSession = (id: string, { name, roles, active }: User, expiresOn: Date): Session => ({
  id,
  user: { name, roles, active },
  csrfToken: digest(`csrf ${id}`),
  expiresOn,
});

/** SHA-256, in base64url: 43 letters, digits, `-` and `_`. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");
