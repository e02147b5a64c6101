import { InvalidArgumentError, Option, type Command } from "commander";

import { userNamePattern, userNameRule } from "../../../schemas/user.ts";
import { findRoleChangeFault } from "../../users/administration.ts";
import { everyRole } from "../../users/user.ts";
import type { JsonFlag } from "../input/options.ts";
import { askNewPassword } from "../input/password.ts";
import { changing, listUsers, none, printUserChange, withUsers } from "./user-actions.ts";

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
      const user = await changing(name, (users) => users.add({ name, password, roles }));
      const withRoles =
        roles.length === 0 ? ", without roles: push tokens only" : ` with ${user.roles.join(", ")}`;
      printUserChange(user, [`added ${name}${withRoles}`], json);
    });

  users
    .command("list")
    .description("list the users")
    .option("--json", "print JSON instead of a table")
    .action(listUsers);

  users
    .command("show")
    .description("show one user")
    .argument("<name>", "the user's name")
    .option("--json", "print JSON")
    .action(async (name: string, { json }: JsonFlag) => {
      const user = await withUsers(async (known) => (await known.find(name)) ?? none(name));
      const roles = user.roles.length === 0 ? "none: push tokens only" : user.roles.join(", ");
      printUserChange(
        user,
        [`name    ${name}`, `roles   ${roles}`, `active  ${user.active ? "yes" : "no"}`],
        json,
      );
    });

  users
    .command("passwd")
    .description("change a user's password; the old one is refused within 30 seconds")
    .argument("<name>", "the user's name")
    .option("--json", "print the user as JSON")
    .action(async (name: string, { json }: JsonFlag) => {
      const password = await askNewPassword(`New password of ${name}`);
      const user = await changing(name, (users) => users.setPassword(name, password));
      printUserChange(user, [`changed the password of ${name}`], json);
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
      const fault = findRoleChangeFault(roles);
      if (fault !== undefined) command.error(`error: ${fault}`);
      const user = await changing(name, (users) => users.changeRoles(name, roles));
      printUserChange(
        user,
        [`${name} has ${user.roles.length === 0 ? "no roles" : user.roles.join(", ")}`],
        json,
      );
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
          : "refuse a user from now on, and end the sessions; running services notice within 30 seconds",
      )
      .argument("<name>", "the user's name")
      .option("--json", "print the user as JSON")
      .action(async (name: string, { json }: JsonFlag) => {
        const user = await changing(name, (users) => users.setActive(name, active));
        printUserChange(user, [`${command}d ${name}`], json);
      });
  }
}

interface RoleFlags extends JsonFlag {
  readonly add: string[];
  readonly remove: string[];
}

function userName(name: string): string {
  if (!name.isWellFormed() || !new RegExp(userNamePattern, "u").test(name))
    throw new InvalidArgumentError(`It must be ${userNameRule}.`);
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
