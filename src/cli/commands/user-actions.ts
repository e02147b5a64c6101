import type { Database } from "../../storage/database.ts";
import { createSessionStore } from "../../storage/sessions.ts";
import { createUserStore } from "../../storage/users.ts";
import { newId } from "../../lib/sys-id.ts";
import {
  createUserAdministration,
  type ChangedUser,
  type UserAdministration,
} from "../../users/administration.ts";
import { hashPassword } from "../../users/password.ts";
import type { User } from "../../users/user.ts";
import { runCommand } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { printLine, sanitize } from "../output/output.ts";

/** Lists the users by name. */
export async function listUsers({ json }: JsonFlag): Promise<void> {
  const found = await withUsers((users) => users.list());
  if (json) {
    printLine(JSON.stringify(found, undefined, 2));
    return;
  }
  if (found.length === 0) {
    printLine(
      "There are no users yet: add one with `topicsync users add NAME`, or set BOOTSTRAP_USER and BOOTSTRAP_PASSWORD.",
    );
    return;
  }
  const { default: Table } = await import("cli-table3");
  const table = new Table({ head: ["user", "roles", "active"], style: { head: [], border: [] } });
  table.push(
    ...found.map(({ name, roles, active }) => [
      sanitize(name),
      roles.map((one) => sanitize(one)).join("\n"),
      active ? "yes" : "no",
    ]),
  );
  printLine(table.toString());
}

/** Gives the work the users. */
export const withUsers = <T>(work: (users: UserAdministration) => Promise<T>): Promise<T> =>
  runCommand(async ({ database }) => work(administrationOf(await database())));

/** Makes a change, records it, and gives what became of the user. Throws when the change finds none of that name. */
export const changing = (
  name: string,
  change: (users: UserAdministration) => Promise<ChangedUser | undefined>,
): Promise<User> =>
  runCommand(async ({ database, audit }) => {
    const record = audit();
    const { user, event } = (await change(administrationOf(await database()))) ?? none(name);
    record(event);
    return user;
  });

const administrationOf = (database: Database): UserAdministration =>
  createUserAdministration({
    users: createUserStore(database, newId),
    sessions: createSessionStore(database),
    hash: hashPassword,
  });

/** Throws that there is no such user. */
export function none(name: string): never {
  throw new Error(`there is no user named "${name}"; \`topicsync users list\` shows those there are`);
}

/** Says what was done, or gives the user to programs. */
export function printUserChange(user: User, lines: readonly string[], json: true | undefined): void {
  if (json) printLine(JSON.stringify(user, undefined, 2));
  else for (const line of lines) printLine(sanitize(line));
}
