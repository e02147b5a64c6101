import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { NameTakenError } from "@topicsync/lib/errors";
import type { SessionStore } from "./session.ts";
import { hashPassword, verifyPassword } from "./password.ts";
import { everyRole, type IsBeingErased, type StoredUser, type User, type UserStore } from "./user.ts";

interface NewUser {
  readonly name: string;
  readonly password: string;
  readonly roles: readonly string[];
}

/** Roles to grant and roles to revoke. */
interface RoleChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** A changed user, and the audit event of the change. */
export interface ChangedUser {
  readonly user: User;
  readonly event: AuditEvent;
}

/**
 * Manages users, for HTTP and the command line. A change returns undefined when the user does not exist.
 * Every function throws UnavailableError.
 */
export type UserAdministration = ReturnType<typeof createUserAdministration>;

interface UserAdministrationOptions {
  readonly users: UserStore;
  readonly sessions: Pick<SessionStore, "removeAll">;
  readonly isBeingErased?: IsBeingErased;
  /** Hashes a password; may wait in a queue. */
  readonly hash?: (password: string) => Promise<string>;
}

export function createUserAdministration({
  users,
  sessions,
  isBeingErased = () => false,
  hash = hashPassword,
}: UserAdministrationOptions) {
  async function find(name: string): Promise<User | undefined> {
    const stored = await users.find(name);
    return stored && { name, roles: stored.roles, active: stored.active };
  }

  async function toChanged(
    name: string,
    change: Promise<boolean>,
    toEvent: (user: User) => AuditEvent,
  ): Promise<ChangedUser | undefined> {
    const user = (await change) ? await find(name) : undefined;
    return user && { user, event: toEvent(user) };
  }

  return {
    findPage: users.findPage,
    find,

    /** Adds an active user. Throws NameTakenError and OverloadedError. */
    async add({ name, password, roles: given }: NewUser): Promise<ChangedUser> {
      if (await isBeingErased(name)) throw new NameTakenError(`"${name}" is being erased`);
      const user = { name, roles: [...new Set(given)], active: true };
      await users.insert({ ...user, passwordHash: await hash(password) });
      return { user, event: { action: "user.added", user: name, roles: user.roles } };
    },

    /** Disabling a user ends the user's sessions permanently. */
    async setActive(name: string, active: boolean): Promise<ChangedUser | undefined> {
      // A process killed while disabling the user may have left sessions, which must not become valid again.
      if (active && (await users.find(name))?.active === false) await sessions.removeAll(name);
      const changed = await toChanged(name, users.change(name, { active }), () => ({
        action: active ? "user.enabled" : "user.disabled",
        user: name,
      }));
      if (!active) await sessions.removeAll(name);
      return changed;
    },

    changeRoles: (name: string, change: RoleChange): Promise<ChangedUser | undefined> =>
      toChanged(name, users.changeRoles(name, change), ({ roles }) => ({
        action: "user.changed",
        user: name,
        roles,
      })),

    /**
     * Ends the user's sessions, and returns the new hash. With `verified`, the user of a password that was
     * checked, nothing changes if that user has another hash by now or is disabled. Throws OverloadedError.
     */
    async setPassword(name: string, password: string, verified?: StoredUser) {
      if ((await users.find(name)) === undefined) return undefined;
      const passwordHash = await hash(password);
      const changed = await toChanged(name, users.change(name, { passwordHash }, verified), () => ({
        action: "user.password-changed",
        user: name,
      }));
      if (changed === undefined) return undefined;
      await sessions.removeAll(name);
      return { ...changed, passwordHash };
    },
  };
}

/** Returns why a change of roles is invalid; undefined when it is valid. */
export function findRoleChangeFault({ add, remove }: RoleChange): string | undefined {
  if (add.length + remove.length === 0) return "name roles to add, to remove, or both";
  const both = add.find((one) => remove.includes(one));
  return both === undefined ? undefined : `${both} is in both lists, to add and to remove`;
}

/** Adds the user of the settings, with every role, if it does not exist. Returns whether it did. */
export async function addBootstrapUser(users: UserStore, name: string, password: string): Promise<boolean> {
  if ((await users.find(name)) !== undefined) return false;
  try {
    const passwordHash = await hashPassword(password);
    await users.insert({ name, roles: everyRole, active: true, passwordHash });
    return true;
  } catch (error) {
    // Another instance that starts at the same time has added the user.
    if (error instanceof NameTakenError) return false;
    throw error;
  }
}

/**
 * Gives an existing user the password of the settings and every role, and enables the user, so that an
 * operator who is locked out can get back in. Returns whether anything changed.
 */
export async function resetBootstrapUser(users: UserStore, name: string, password: string): Promise<boolean> {
  const stored = await users.find(name);
  const isSamePassword = await verifyPassword(password, stored?.passwordHash);
  const missing = everyRole.filter((role) => stored?.roles.includes(role) !== true);
  if (isSamePassword && stored?.active === true && missing.length === 0) return false;
  return users.change(name, {
    active: true,
    roles: [...(stored?.roles ?? []), ...missing],
    ...(isSamePassword ? {} : { passwordHash: await hashPassword(password) }),
  });
}
