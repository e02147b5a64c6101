import { Option, type Command } from "commander";

import type { CreatedKeyView, KeyView } from "../../../schemas/api-key.ts";
import { createKey, deleteKey, listKeys } from "../../operations/keys.ts";
import { addList, addOperation } from "../client/command.ts";
import { createGrantOption, parseGrant } from "../input/grants.ts";
import { parseDuration } from "../input/options.ts";
import { formatMinute } from "../output/format.ts";

export function defineKeys(keys: Command): void {
  addOperation<CreatedKeyView>(keys, {
    name: "create",
    operation: createKey,
    description: "create an API key and print it, the only time that it is shown",
    arguments: ["name"],
    members: {
      roles: createGrantOption("-r, --role <role...>", "rights and roles of the key").argParser(parseGrant),
      expiresOn: new Option("--expires-in <duration>", "how long it is valid")
        .argParser(parseEnd)
        .default(parseEnd("90d"), "90d"),
    },
    format: ({ key }) => key,
    note: ({ name, id, roles, expiresOn }) => {
      const granted = roles.length === 0 ? "without rights" : `with ${roles.join(", ")}`;
      return `created the key ${name} (${id}) ${granted}, valid until ${expiresOn}`;
    },
  });
  addList<KeyView>(keys, {
    name: "list",
    operation: listKeys,
    description: "list the API keys, without the keys themselves",
    member: "keys",
    head: ["name", "id", "rights and roles", "expires", "last used"],
    toRow: ({ name, id, roles, expiresOn, lastUsedOn }) => [
      ...[name, id, roles, formatMinute(new Date(expiresOn))],
      lastUsedOn === null ? "never" : formatMinute(new Date(lastUsedOn)),
    ],
    empty: "No API keys. Create one with `topicsync keys create NAME`.",
  });
  addOperation(keys, {
    name: "delete",
    operation: deleteKey,
    description:
      "delete an API key, by the id that `list` prints; running services reject it within 30 seconds",
    format: (_result, { id }) => `deleted the key ${String(id)}`,
  });
}

/** The time after a duration such as `90d`. */
const parseEnd = (duration: string): string => new Date(Date.now() + parseDuration(duration)).toISOString();
