import { InvalidArgumentError, type Command } from "commander";

import { createUserStore } from "../storage/users.ts";
import { newId } from "../topics/topic.ts";
import { addUser } from "../users/manage.ts";
import { hashPassword } from "../users/password.ts";
import { everyRole, type User, type UserStore } from "../users/user.ts";
import { connected } from "./connected.ts";
import type { JsonFlag } from "./json-flag.ts";
import { say, visible } from "./output.ts";
import { askNewPassword } from "./password.ts";

/** Adds `topicsync users …`: who may use the HTTP facade. What only these commands need is loaded when they run. */
export function addUsersCommand(program: Command): void {
  const users = program.command("users").description("manage who may use the HTTP facade");

  users
    .command("add")
    .description(
      "add a user; the password is asked for, or read from standard input when that is no terminal",
    )
    .argument("<name>", "the user's name", userName)
    .option("-r, --role <role...>", `roles of the user: ${everyRole.join(", ")}`, role, [])
    .option("--json", "print the user as JSON")
    .action(async (name: string, { role: roles, json }: JsonFlag & { role: string[] }) => {
      const password = await askNewPassword(`Password of ${name}`);
      const user = { name, roles: [...new Set(roles)], active: true };
      await withUsers((store) => addUser(store, { ...user, password }));
      const withRoles =
        roles.length === 0 ? ", without roles: push tokens only" : ` with ${user.roles.join(", ")}`;
      tell(user, `added ${name}${withRoles}`, json);
    });

  users
    .command("list")
    .description("list the users")
    .option("--json", "print JSON instead of a table")
    .action(list);

  users
    .command("show")
    .description("show one user")
    .argument("<name>", "the user's name")
    .option("--json", "print JSON")
    .action(async (name: string, { json }: JsonFlag) => {
      const user = await withUsers((store) => mustFind(store, name));
      const roles = user.roles.length === 0 ? "none: push tokens only" : user.roles.join(", ");
      tell(user, `name    ${name}\nroles   ${roles}\nactive  ${user.active ? "yes" : "no"}`, json);
    });

  users
    .command("passwd")
    .description("change a user's password; the old one is refused within 30 seconds")
    .argument("<name>", "the user's name")
    .option("--json", "print the user as JSON")
    .action(async (name: string, { json }: JsonFlag) => {
      const password = await askNewPassword(`New password of ${name}`);
      const passwordHash = await hashPassword(password);
      tell(
        await changed(name, (store) => store.change(name, { passwordHash })),
        `changed the password of ${name}`,
        json,
      );
    });

  users
    .command("roles")
    .description("give a user roles, or take some away; running services notice within 30 seconds")
    .argument("<name>", "the user's name")
    .option("-a, --add <role...>", `roles to give: ${everyRole.join(", ")}`, role, [])
    .option(
      "-r, --remove <role...>",
      "roles to take away",
      (given: string, before: string[]) => [...before, given],
      [],
    )
    .option("--json", "print the user as JSON")
    .action(async (name: string, { json, ...roles }: RoleFlags, command: Command) => {
      if (roles.add.length + roles.remove.length === 0)
        command.error("error: say which roles: --add ROLE, --remove ROLE, or both");
      const both = roles.add.find((one) => roles.remove.includes(one));
      if (both !== undefined) command.error(`error: ${both} is both to be added and to be removed`);
      const user = await changed(name, (store) => store.changeRoles(name, roles));
      tell(user, `${name} has ${user.roles.length === 0 ? "no roles" : user.roles.join(", ")}`, json);
    });

  for (const [command, active] of [
    ["disable", false],
    ["enable", true],
  ] as const) {
    users
      .command(command)
      .description(
        active
          ? "let a disabled user in again"
          : "refuse a user from now on; running services notice within 30 seconds",
      )
      .argument("<name>", "the user's name")
      .option("--json", "print the user as JSON")
      .action(async (name: string, { json }: JsonFlag) => {
        tell(await changed(name, (store) => store.change(name, { active })), `${command}d ${name}`, json);
      });
  }
}

interface RoleFlags extends JsonFlag {
  readonly add: string[];
  readonly remove: string[];
}

async function list({ json }: JsonFlag): Promise<void> {
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

const withUsers = <T>(work: (users: UserStore) => Promise<T>): Promise<T> =>
  connected(async ({ database }) => work(createUserStore(await database(), newId)));

/** Changes a user and gives what became of it. */
const changed = (name: string, change: (users: UserStore) => Promise<boolean>): Promise<User> =>
  withUsers(async (store) => {
    await change(store);
    return mustFind(store, name);
  });

/** The user without the password's hash, which is never shown. */
async function mustFind(store: UserStore, given: string): Promise<User> {
  const found = await store.find(given);
  if (found === undefined)
    throw new Error(`there is no user named "${given}"; \`topicsync users list\` shows those there are`);
  const { name, roles, active } = found;
  return { name, roles, active };
}

function tell(user: User, text: string, json: true | undefined): void {
  if (json) say(JSON.stringify(user, undefined, 2));
  else for (const line of text.split("\n")) say(visible(line));
}

function userName(name: string): string {
  if (name === "" || name.includes(":")) {
    throw new InvalidArgumentError(
      "A user's name is not empty and has no colon (HTTP Basic separates by it).",
    );
  }
  return name;
}

function role(given: string, previous: string[]): string[] {
  if (!everyRole.some((known) => known === given)) {
    throw new InvalidArgumentError(`Known roles are ${everyRole.join(", ")}.`);
  }
  return [...previous, given];
}
