import type { Command } from "commander";

import type { Erasure, UserView } from "../../../schemas/user.ts";
import {
  addUser,
  changeRoles,
  disableUser,
  enableUser,
  eraseUser,
  getUser,
  listUsers,
  setPassword,
} from "../../operations/users.ts";
import { addList, addOperation } from "../client/command.ts";
import { collectGrant, createGrantOption, parseGrant } from "../input/grants.ts";
import { addMistaken, deletions } from "../input/mistaken.ts";
import { askNewPassword } from "../input/password.ts";
import { formatCount } from "../output/format.ts";

export function defineUsers(users: Command): void {
  addOperation<UserView>(users, {
    name: "add",
    operation: addUser,
    description:
      "add a user; prompts for the password, or reads it from standard input if that is not a terminal",
    arguments: ["name"],
    members: {
      roles: createGrantOption("-r, --role <role...>", "rights and roles of the user").argParser(parseGrant),
      password: undefined,
    },
    toBody: async (given) => ({
      ...given,
      password: await askNewPassword(`Password of ${String(given["name"])}`),
    }),
    format: ({ name, roles }) =>
      `added ${name}${roles.length === 0 ? ", without roles: push tokens only" : ` with ${roles.join(", ")}`}`,
  });
  addList<UserView>(users, {
    name: "list",
    operation: listUsers,
    member: "users",
    head: ["user", "roles", "active"],
    toRow: ({ name, roles, active }) => [name, roles, active ? "yes" : "no"],
    empty: "No users. Add one with `topicsync users add NAME`, or set BOOTSTRAP_USER and BOOTSTRAP_PASSWORD.",
  });
  addOperation<UserView>(users, {
    name: "show",
    operation: getUser,
    format: ({ name, roles, active }) => [
      `name    ${name}`,
      `roles   ${roles.length === 0 ? "none: push tokens only" : roles.join(", ")}`,
      `active  ${active ? "yes" : "no"}`,
    ],
  });
  addOperation<UserView>(users, {
    name: "passwd",
    operation: setPassword,
    description: "set the password of a user; the old one stops working within 30 seconds",
    members: { password: undefined },
    toBody: async (_given, { name }) => ({ password: await askNewPassword(`New password of ${name}`) }),
    format: ({ name }) => `changed the password of ${name}`,
  });
  addOperation<UserView>(users, {
    name: "roles",
    operation: changeRoles,
    description: "grant or revoke rights and roles; running services notice within 30 seconds",
    members: {
      add: createGrantOption("-a, --add <role...>", "rights and roles to grant").argParser(parseGrant),
      // A record may contain an unknown role, which must be removable.
      remove: createGrantOption("-r, --remove <role...>", "rights and roles to revoke").argParser(
        collectGrant,
      ),
    },
    format: ({ name, roles }) => `roles of ${name}: ${roles.length === 0 ? "none" : roles.join(", ")}`,
  });
  addOperation<UserView>(users, {
    name: "disable",
    operation: disableUser,
    description: "disable a user and end the sessions; running services notice within 30 seconds",
    format: ({ name }) => `disabled ${name}`,
  });
  addOperation<UserView>(users, {
    name: "enable",
    operation: enableUser,
    description: "enable a disabled user again",
    format: ({ name }) => `enabled ${name}`,
  });
  addOperation<Erasure>(users, {
    name: "erase",
    operation: eraseUser,
    description: "erase a person for ever: user, sessions, keys, push tokens and the name; takes a minute",
    repeat: ({ pseudonym, repeatOn }) =>
      repeatOn === null
        ? undefined
        : {
            afterMs: Math.min(Math.max(Date.parse(repeatOn) - Date.now(), 1_000), 60_000),
            because: `locked out, and now named ${pseudonym}; waiting until all instances have noticed`,
          },
    format: ({ pseudonym, keys, deletedTokens }, { name }) => [
      `erased ${String(name)}, now named ${pseudonym}`,
      `deleted ${formatCount(deletedTokens, "push token")}`,
      ...keys.map((key) => `revoked the API key ${key.name} (${key.id})`),
    ],
  });
  addMistaken(
    users,
    deletions,
    "users are disabled, which can be undone, or erased: topicsync users disable NAME, topicsync users erase NAME",
  );
}
