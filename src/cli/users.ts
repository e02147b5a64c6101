import { InvalidArgumentError, type Command } from "commander";

import { createUserStore } from "../storage/users.ts";
import { newId } from "../topics/topic.ts";
import { addUser } from "../users/manage.ts";
import { hashPassword } from "../users/password.ts";
import { everyRole, type UserStore } from "../users/user.ts";
import { connected } from "./connected.ts";
import { say } from "./output.ts";
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
    .action(async (name: string, { role: roles }: { role: string[] }) => {
      const password = await askNewPassword(`Password of ${name}`);
      await withUsers((store) => addUser(store, { name, password, roles: [...new Set(roles)] }));
      say(
        `added ${name}${roles.length === 0 ? ", without roles: push tokens only" : ` with ${roles.join(", ")}`}`,
      );
    });

  users
    .command("list")
    .description("list the users")
    .option("--json", "print JSON instead of a table")
    .action(async ({ json }: { json?: true }) => {
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
      table.push(...found.map(({ name, roles, active }) => [name, roles.join("\n"), active ? "yes" : "no"]));
      say(table.toString());
    });

  users
    .command("passwd")
    .description("change a user's password; the old one is refused within 30 seconds")
    .argument("<name>", "the user's name")
    .action(async (name: string) => {
      const password = await askNewPassword(`New password of ${name}`);
      const passwordHash = await hashPassword(password);
      mustExist(name, await withUsers((store) => store.change(name, { passwordHash })));
      say(`changed the password of ${name}`);
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
      .action(async (name: string) => {
        mustExist(name, await withUsers((store) => store.change(name, { active })));
        say(`${command}d ${name}`);
      });
  }
}

const withUsers = <T>(work: (users: UserStore) => Promise<T>): Promise<T> =>
  connected(async ({ database }) => work(createUserStore(await database(), newId)));

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

function mustExist(name: string, found: boolean): void {
  if (!found)
    throw new Error(`there is no user named "${name}"; \`topicsync users list\` shows those there are`);
}
