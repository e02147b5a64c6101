import { hashPassword, verifyPassword } from "./password.ts";
import { everyRole, UserExists, type UserStore } from "./user.ts";

/** Adds an active user. Throws UserExists. */
export async function addUser(
  users: UserStore,
  user: { readonly name: string; readonly password: string; readonly roles: readonly string[] },
): Promise<void> {
  const { name, password, roles } = user;
  await users.insert({ name, roles, active: true, passwordHash: await hashPassword(password) });
}

/**
 * Makes sure that the user of the settings exists, is active, has every role and this very password: the settings are
 * the way back in for whoever locked themselves out.
 */
export async function bootstrapUser(users: UserStore, name: string, password: string): Promise<void> {
  try {
    if ((await users.find(name)) === undefined) {
      await addUser(users, { name, password, roles: everyRole });
      return;
    }
  } catch (error) {
    // Another instance that starts at the same time was quicker.
    if (!(error instanceof UserExists)) throw error;
  }
  const stored = await users.find(name);
  const samePassword = stored !== undefined && (await verifyPassword(password, stored.passwordHash));
  await users.change(name, {
    active: true,
    roles: [...new Set([...(stored?.roles ?? []), ...everyRole])],
    ...(samePassword ? {} : { passwordHash: await hashPassword(password) }),
  });
}
