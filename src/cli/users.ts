import { InvalidArgumentError, Option, type Command } from "commander";

import { addUser } from "../users/manage.ts";
import { hashPassword } from "../users/password.ts";
import { everyRole } from "../users/user.ts";
import type { JsonFlag } from "./json-flag.ts";
import { askNewPassword } from "./password.ts";
import { changed, changingUsers, list, mustFind, tell, withUsers } from "./user-actions.ts";

/** Adds `topicsync users …`: who may use the HTTP facade. */
export function addUsersCommand(program: Command): void {
  const users = program.command("users").description("manage who may use the HTTP facade");

  users
    .command("add")
    .description(
      "add a user; the password is asked for, or read from standard input when that is no terminal",
    )
    .argument("<name>", "the user's name", userName)
    .addOption(roleOption("-r, --role <role...>", "roles of the user").argParser(role))
    .option("--json", "print the user as JSON")
    .action(async (name: string, { role: roles, json }: JsonFlag & { role: string[] }) => {
      const password = await askNewPassword(`Password of ${name}`);
      const user = { name, roles: [...new Set(roles)], active: true };
      await changingUsers(async (store, record) => {
        await addUser(store, { ...user, password });
        record({ action: "user.added", user: name, roles: user.roles });
      });
      const withRoles =
        roles.length === 0 ? ", without roles: push tokens only" : ` with ${user.roles.join(", ")}`;
      tell(user, [`added ${name}${withRoles}`], json);
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
      tell(user, [`name    ${name}`, `roles   ${roles}`, `active  ${user.active ? "yes" : "no"}`], json);
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
        await changed(name, {
          change: (store) => store.change(name, { passwordHash }),
          event: () => ({ action: "user.password-changed", user: name }),
        }),
        [`changed the password of ${name}`],
        json,
      );
    });

  users
    .command("roles")
    .description("give a user roles, or take some away; running services notice within 30 seconds")
    .argument("<name>", "the user's name")
    .addOption(roleOption("-a, --add <role...>", "roles to give").argParser(role))
    // A role that nobody knows may stand in a record, and must be able to go.
    .addOption(roleOption("-r, --remove <role...>", "roles to take away").argParser(anyRole))
    .option("--json", "print the user as JSON")
    .action(async (name: string, { json, ...roles }: RoleFlags, command: Command) => {
      if (roles.add.length + roles.remove.length === 0)
        command.error("error: say which roles: --add ROLE, --remove ROLE, or both");
      const both = roles.add.find((one) => roles.remove.includes(one));
      if (both !== undefined) command.error(`error: ${both} is both to be added and to be removed`);
      const user = await changed(name, {
        change: (store) => store.changeRoles(name, roles),
        event: (found) => ({ action: "user.changed", user: name, roles: found.roles }),
      });
      tell(user, [`${name} has ${user.roles.length === 0 ? "no roles" : user.roles.join(", ")}`], json);
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
        const user = await changed(name, {
          change: (store) => store.change(name, { active }),
          event: () => ({ action: active ? "user.enabled" : "user.disabled", user: name }),
        });
        tell(user, [`${command}d ${name}`], json);
      });
  }
}

interface RoleFlags extends JsonFlag {
  readonly add: string[];
  readonly remove: string[];
}

function userName(name: string): string {
  if (name === "" || name.includes(":")) {
    throw new InvalidArgumentError(
      "A user's name is not empty and has no colon (HTTP Basic separates by it).",
    );
  }
  return name;
}

const roleOption = (flags: string, description: string): Option =>
  new Option(flags, description).choices(everyRole).default([], "none");

const anyRole = (given: string, previous: string[]): string[] => [...previous, given];

function role(given: string, previous: string[]): string[] {
  if (!everyRole.some((known) => known === given)) {
    throw new InvalidArgumentError(`Known roles are ${everyRole.join(", ")}.`);
  }
  return [...previous, given];
}
