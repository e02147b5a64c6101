import type { AuditEvent } from "../audit.ts";
import { createUserStore } from "../storage/users.ts";
import { newId } from "../topics/topic.ts";
import type { User, UserStore } from "../users/user.ts";
import { connected, type RecordChange } from "./connected.ts";
import type { JsonFlag } from "./json-flag.ts";
import { say, visible } from "./output.ts";

/** Lists the users by name. */
export async function list({ json }: JsonFlag): Promise<void> {
  const found = await withUsers((store) => store.list());
  if (json) {
    say(JSON.stringify(found, undefined, 2));
    return;
  }
  if (found.length === 0) {
    say(
      "There are no users yet: add one with `topicsync users add NAME`, or set BOOTSTRAP_USER and BOOTSTRAP_PASSWORD.",
    );
    return;
  }
  const { default: Table } = await import("cli-table3");
  const table = new Table({ head: ["user", "roles", "active"], style: { head: [], border: [] } });
  table.push(
    ...found.map(({ name, roles, active }) => [
      visible(name),
      roles.map((one) => visible(one)).join("\n"),
      active ? "yes" : "no",
    ]),
  );
  say(table.toString());
}

/** Gives the work the store of users. */
export const withUsers = <T>(work: (users: UserStore) => Promise<T>): Promise<T> =>
  connected(async ({ database }) => work(createUserStore(await database(), newId)));

/** Gives the work the store of users to change, and what records a change. */
export const changingUsers = <T>(work: (users: UserStore, record: RecordChange) => Promise<T>): Promise<T> =>
  connected(async ({ database, audit }) => {
    const record = audit();
    return work(createUserStore(await database(), newId), record);
  });

/** A change of one user, and what the audit says of it. */
export interface UserChange {
  /** False when there is no such user. */
  readonly change: (users: UserStore) => Promise<boolean>;
  readonly event: (user: User) => AuditEvent;
}

/** Changes a user and gives what became of it. Throws when there is none of that name. */
export const changed = (name: string, { change, event }: UserChange): Promise<User> =>
  changingUsers(async (store, record) => {
    await change(store);
    const user = await mustFind(store, name);
    record(event(user));
    return user;
  });

/** The user without the password's hash, which is never shown. Throws when there is none of that name. */
export async function mustFind(store: UserStore, given: string): Promise<User> {
  const found = await store.find(given);
  if (found === undefined)
    throw new Error(`there is no user named "${given}"; \`topicsync users list\` shows those there are`);
  const { name, roles, active } = found;
  return { name, roles, active };
}

/** Says what was done, or gives the user to programs. */
export function tell(user: User, lines: readonly string[], json: true | undefined): void {
  if (json) say(JSON.stringify(user, undefined, 2));
  else for (const line of lines) say(visible(line));
}
