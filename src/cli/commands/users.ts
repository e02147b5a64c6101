import { InvalidArgumentError, type Command } from "commander";

import { userNamePattern, userNameRule } from "../../../schemas/user.ts";
import {
  findRoleChangeFault,
  type ChangedUser,
  type UserAdministration,
} from "../../users/administration.ts";
import type { User } from "../../users/user.ts";
import { collectGrant, createGrantOption, parseGrant } from "../input/grants.ts";
import { runWithContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { askNewPassword } from "../input/password.ts";
import { printJson, printLine, sanitize } from "../output/output.ts";
import { formatTable } from "../output/table.ts";

interface RoleFlags extends JsonFlag {
  readonly add: string[];
  readonly remove: string[];
}

export function defineUsers(users: Command): void {
  addAddCommand(users);
  addListCommand(users);
  addShowCommand(users);
  addPasswordCommand(users);
  addRolesCommand(users);
  addSwitchCommands(users);
}

function addAddCommand(users: Command): void {
  users
    .command("add")
    .description(
      "add a user; prompts for the password, or reads it from standard input if that is not a terminal",
    )
    .argument("<name>", "name of the user", parseUserName)
    .addOption(
      createGrantOption("-r, --role <role...>", "rights and roles of the user").argParser(parseGrant),
    )
    .option("--json", "print the user as JSON")
    .action(async (name: string, { role: roles, json }: JsonFlag & { role: string[] }) => {
      const password = await askNewPassword(`Password of ${name}`);
      const user = await changeUser(name, (users) => users.add({ name, password, roles }));
      const suffix =
        roles.length === 0 ? ", without roles: push tokens only" : ` with ${user.roles.join(", ")}`;
      printUser(user, [`added ${name}${suffix}`], json);
    });
}

function addListCommand(users: Command): void {
  users
    .command("list")
    .description("list the users")
    .option("--json", "print JSON instead of a table")
    .action(listUsers);
}

function addShowCommand(users: Command): void {
  users
    .command("show")
    .description("show a user")
    .argument("<name>", "name of the user")
    .option("--json", "print JSON")
    .action(async (name: string, { json }: JsonFlag) => {
      const user = await withUsers(async (users) => (await users.find(name)) ?? throwNotFound(name));
      const roles = user.roles.length === 0 ? "none: push tokens only" : user.roles.join(", ");
      printUser(user, [`name    ${name}`, `roles   ${roles}`, `active  ${user.active ? "yes" : "no"}`], json);
    });
}

function addPasswordCommand(users: Command): void {
  users
    .command("passwd")
    .description("set the password of a user; the old one stops working within 30 seconds")
    .argument("<name>", "name of the user")
    .option("--json", "print the user as JSON")
    .action(async (name: string, { json }: JsonFlag) => {
      const password = await askNewPassword(`New password of ${name}`);
      const user = await changeUser(name, (users) => users.setPassword(name, password));
      printUser(user, [`changed the password of ${name}`], json);
    });
}

function addRolesCommand(users: Command): void {
  users
    .command("roles")
    .description("grant or revoke rights and roles; running services notice within 30 seconds")
    .argument("<name>", "name of the user")
    .addOption(createGrantOption("-a, --add <role...>", "rights and roles to grant").argParser(parseGrant))
    // A record may contain an unknown role, which must be removable.
    .addOption(
      createGrantOption("-r, --remove <role...>", "rights and roles to revoke").argParser(collectGrant),
    )
    .option("--json", "print the user as JSON")
    .action(async (name: string, { json, ...roles }: RoleFlags, command: Command) => {
      const fault = findRoleChangeFault(roles);
      if (fault !== undefined) command.error(`error: ${fault}`);
      const user = await changeUser(name, (users) => users.changeRoles(name, roles));
      printUser(
        user,
        [`roles of ${name}: ${user.roles.length === 0 ? "none" : user.roles.join(", ")}`],
        json,
      );
    });
}

function addSwitchCommands(users: Command): void {
  for (const [command, active, description] of [
    ["disable", false, "disable a user and end the sessions; running services notice within 30 seconds"],
    ["enable", true, "enable a disabled user again"],
  ] as const) {
    users
      .command(command)
      .description(description)
      .argument("<name>", "name of the user")
      .option("--json", "print the user as JSON")
      .action(async (name: string, { json }: JsonFlag) => {
        const user = await changeUser(name, (users) => users.setActive(name, active));
        printUser(user, [`${command}d ${name}`], json);
      });
  }
}

async function listUsers({ json }: JsonFlag): Promise<void> {
  const users = await withUsers((administration) => administration.list());
  if (json) {
    printJson({ users, next: null });
    return;
  }
  if (users.length === 0) {
    printLine(
      "No users. Add one with `topicsync users add NAME`, or set BOOTSTRAP_USER and BOOTSTRAP_PASSWORD.",
    );
    return;
  }
  const rows = users.map(({ name, roles, active }) => [
    sanitize(name),
    roles.map(sanitize).join("\n"),
    active ? "yes" : "no",
  ]);
  printLine(await formatTable(["user", "roles", "active"], rows));
}

const withUsers = <T>(work: (users: UserAdministration) => Promise<T>): Promise<T> =>
  runWithContext(async ({ services }) => work((await services()).users));

/** Makes a change and audits it. Throws when the user does not exist. */
const changeUser = (
  name: string,
  change: (users: UserAdministration) => Promise<ChangedUser | undefined>,
): Promise<User> =>
  runWithContext(async ({ services, audit }) => {
    const record = audit();
    const { user, event } = (await change((await services()).users)) ?? throwNotFound(name);
    record(event);
    return user;
  });

function throwNotFound(name: string): never {
  throw new Error(`there is no user named "${name}"; \`topicsync users list\` lists the users`);
}

function printUser(user: User, lines: readonly string[], json: true | undefined): void {
  if (json) printJson(user);
  else for (const line of lines) printLine(sanitize(line));
}

function parseUserName(name: string): string {
  if (!name.isWellFormed() || !new RegExp(userNamePattern, "u").test(name))
    throw new InvalidArgumentError(`It must have ${userNameRule}.`);
  return name;
}
