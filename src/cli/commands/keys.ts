import { InvalidArgumentError, type Command } from "commander";

import { keyNamePattern, keyNameRule, type KeyView } from "../../../schemas/api-key.ts";
import { getCommandLineUser, runWithContext } from "../context.ts";
import { createGrantOption, parseGrant } from "../input/grants.ts";
import { parseDuration, type JsonFlag } from "../input/options.ts";
import { formatMinute } from "../output/format.ts";
import { printError, printJson, printLine, sanitize } from "../output/output.ts";
import { formatTable } from "../output/table.ts";

interface CreateFlags extends JsonFlag {
  readonly role: string[];
  readonly expiresIn: number;
}

export function defineKeys(keys: Command): void {
  keys
    .command("create")
    .description("create an API key and print it, the only time that it is shown")
    .argument(
      "<name>",
      "name of the key; two valid keys can share it, so that one can replace the other",
      parseName,
    )
    .addOption(createGrantOption("-r, --role <role...>", "rights and roles of the key").argParser(parseGrant))
    .option("--expires-in <duration>", "how long it is valid: 90d", parseDuration, parseDuration("90d"))
    .option("--json", "print the key and its properties as JSON")
    .action((name: string, flags: CreateFlags) => createKey(name, flags));

  keys
    .command("list")
    .description("list the API keys, without the keys themselves")
    .option("--json", "print JSON instead of a table")
    .action(listKeys);

  keys
    .command("delete")
    .description("delete an API key; running services reject it within 30 seconds")
    .argument("<id>", "its id, as printed by `list`")
    .option("--json", "print the deleted key's properties as JSON")
    .action(deleteKey);
}

async function createKey(name: string, { role: roles, expiresIn, json }: CreateFlags): Promise<void> {
  const created = await runWithContext(async ({ services, audit }) => {
    const record = audit();
    const { keys } = await services();
    const expiresOn = new Date(Date.now() + expiresIn);
    const { key, event } = await keys.create({ name, roles, expiresOn }, { name: getCommandLineUser() });
    record(event);
    return key;
  });
  if (json) {
    printJson(created);
    return;
  }
  printLine(created.key);
  const granted = roles.length === 0 ? "without rights" : `with ${roles.join(", ")}`;
  printError(
    sanitize(`created the key ${name} (${created.id}) ${granted}, valid until ${created.expiresOn}`),
  );
}

async function listKeys({ json }: JsonFlag): Promise<void> {
  const keys = await runWithContext(async ({ services }) => (await services()).keys.list());
  if (json) printJson({ keys, next: null });
  else if (keys.length === 0) printLine("No API keys. Create one with `topicsync keys create NAME`.");
  else
    printLine(await formatTable(["name", "id", "rights and roles", "expires", "last used"], keys.map(toRow)));
}

const toRow = ({ name, id, roles, expiresOn, lastUsedOn }: KeyView): string[] => [
  name,
  id,
  roles.map(sanitize).join("\n"),
  formatMinute(new Date(expiresOn)),
  lastUsedOn === null ? "never" : formatMinute(new Date(lastUsedOn)),
];

async function deleteKey(id: string, { json }: JsonFlag): Promise<void> {
  const deleted = await runWithContext(async ({ services, audit }) => {
    const record = audit();
    const removed = await (await services()).keys.remove(id);
    if (removed === undefined)
      throw new Error(`there is no API key with the id "${id}"; \`topicsync keys list\` prints their ids`);
    record(removed.event);
    return removed.key;
  });
  if (json) printJson(deleted);
  else printLine(`deleted the key ${deleted.name} (${deleted.id})`);
}

function parseName(name: string): string {
  if (!new RegExp(keyNamePattern, "u").test(name))
    throw new InvalidArgumentError(`It must have ${keyNameRule}.`);
  return name;
}
