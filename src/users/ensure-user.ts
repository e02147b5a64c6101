import { NameTakenError } from "../lib/errors.ts";
import { hashPassword, verifyPassword } from "./password.ts";
import { everyRole, type UserStore } from "./user.ts";

/** A user to be added. */
export interface NewUser {
  readonly name: string;
  readonly password: string;
  readonly roles: readonly string[];
}

/** Adds an active user. Throws NameTakenError. */
export async function addUser(
  users: Pick<UserStore, "insert">,
  { name, password, roles }: NewUser,
  hash = hashPassword,
): Promise<void> {
  await users.insert({ name, roles, active: true, passwordHash: await hash(password) });
}

/**
 * Makes sure that the user of the settings exists, is active, has every role and this very password: the settings are
 * the way back in for whoever locked themselves out. Says what that took.
 */
export async function ensureUser(
  users: UserStore,
  name: string,
  password: string,
): Promise<"added" | "changed" | "unchanged"> {
  try {
    if ((await users.find(name)) === undefined) {
      await addUser(users, { name, password, roles: everyRole });
      return "added";
    }
  } catch (error) {
    // Another instance that starts at the same time was quicker.
    if (!(error instanceof NameTakenError)) throw error;
  }
  const stored = await users.find(name);
  const samePassword = stored !== undefined && (await verifyPassword(password, stored.passwordHash));
  const missing = everyRole.filter((role) => stored?.roles.includes(role) !== true);
  if (samePassword && stored.active && missing.length === 0) return "unchanged";
  await users.change(name, {
    active: true,
    roles: [...(stored?.roles ?? []), ...missing],
    ...(samePassword ? {} : { passwordHash: await hashPassword(password) }),
  });
  return "changed";
}
