import type { AuditEvent } from "../lib/audit.ts";
import type { SessionStore } from "../sessions/session.ts";
import { addUser, type NewUser } from "./ensure-user.ts";
import type { User, UserPage, UserStore } from "./user.ts";

/** Roles to give and roles to take away. */
export interface RoleChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** A user as changed, and what the audit says of the change. */
export interface ChangedUser {
  readonly user: User;
  readonly event: AuditEvent;
}

/**
 * What an administrator does with users, over HTTP and on the command line alike. A change gives undefined when there is no
 * such user. Every function throws UnavailableError.
 */
export interface UserAdministration {
  readonly list: UserStore["list"];
  readonly page: UserPage;
  /** Without the password's hash, which is never shown; undefined when there is none of that name. */
  find(name: string): Promise<User | undefined>;
  /** Adds an active user. Throws NameTakenError, and OverloadedError. */
  add(user: NewUser): Promise<ChangedUser>;
  /** Disabling a user ends the user's sessions for good. */
  setActive(name: string, active: boolean): Promise<ChangedUser | undefined>;
  changeRoles(name: string, change: RoleChange): Promise<ChangedUser | undefined>;
  /** Ends the user's sessions. Throws OverloadedError. */
  setPassword(name: string, password: string): Promise<ChangedUser | undefined>;
}

export interface UserAdministrationOptions {
  readonly users: UserStore;
  readonly sessions: Pick<SessionStore, "removeAll">;
  /** Hashes a password, as soon as that may be done. */
  readonly hash: (password: string) => Promise<string>;
}

export function createUserAdministration({
  users,
  sessions,
  hash,
}: UserAdministrationOptions): UserAdministration {
  async function find(name: string): Promise<User | undefined> {
    const found = await users.find(name);
    return found && { name, roles: found.roles, active: found.active };
  }

  async function changed(
    name: string,
    change: Promise<boolean>,
    event: (user: User) => AuditEvent,
  ): Promise<ChangedUser | undefined> {
    const user = (await change) ? await find(name) : undefined;
    return user && { user, event: event(user) };
  }

  return {
    list: () => users.list(),
    page: (query) => users.page(query),
    find,

    async add({ name, password, roles: given }) {
      const user = { name, roles: [...new Set(given)], active: true };
      await addUser(users, { ...user, password }, hash);
      return { user, event: { action: "user.added", user: name, roles: user.roles } };
    },

    async setActive(name, active) {
      // A process that was killed while it disabled the user may have left sessions, which must not live again.
      if (active && (await users.find(name))?.active === false) await sessions.removeAll(name);
      const user = await changed(name, users.change(name, { active }), () => ({
        action: active ? "user.enabled" : "user.disabled",
        user: name,
      }));
      if (!active) await sessions.removeAll(name);
      return user;
    },

    changeRoles: (name, change) =>
      changed(name, users.changeRoles(name, change), ({ roles }) => ({
        action: "user.changed",
        user: name,
        roles,
      })),

    async setPassword(name, password) {
      if ((await users.find(name)) === undefined) return undefined;
      const passwordHash = await hash(password);
      const user = await changed(name, users.change(name, { passwordHash }), () => ({
        action: "user.password-changed",
        user: name,
      }));
      await sessions.removeAll(name);
      return user;
    },
  };
}

/** What is wrong with a change of roles; undefined when nothing is. */
export function findRoleChangeFault({ add, remove }: RoleChange): string | undefined {
  if (add.length + remove.length === 0) return "say which roles: some to add, some to remove, or both";
  const both = add.find((one) => remove.includes(one));
  return both === undefined ? undefined : `${both} is both to be added and to be removed`;
}
