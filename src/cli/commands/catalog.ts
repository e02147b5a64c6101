import { Argument, InvalidArgumentError, Option, type Command } from "commander";

import { catalogNamePattern, catalogNameRule } from "../../../schemas/catalog.ts";
import type { InstallationCount } from "../../../schemas/overview.ts";
import type { Services } from "../../service/services.ts";
import {
  toApplicationView,
  toPlatformView,
  type CatalogChange,
  type CatalogKind,
  type PushPlatform,
} from "../../installations/catalog.ts";
import { tokenRules, type TokenRule } from "../../installations/token-rules.ts";
import { exitCodes, NameTakenError } from "../../lib/errors.ts";
import { runWithContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { printError, printJson, printLine, sanitize } from "../output/output.ts";
import { formatTable } from "../output/table.ts";

const catalogs = {
  application: { plural: "applications", setting: "PUSH_APPLICATIONS", toView: toApplicationView },
  platform: { plural: "platforms", setting: "PUSH_PLATFORMS", toView: toPlatformView },
} as const;

export function defineApplications(applications: Command): void {
  addCommonCommands(applications, "application");
  addNewCommand(applications, "application");
}

export function definePlatforms(platforms: Command): void {
  addCommonCommands(platforms, "platform");
  addNewCommand(platforms, "platform").addOption(
    new Option("--token-rule <rule>", "format of their tokens; default: any text").choices(tokenRules),
  );
  platforms
    .command("rule")
    .description("set the format of a platform's tokens; registered tokens are not changed")
    .argument("<name>", "name of the platform")
    .addArgument(
      new Argument("<rule>", "the rule; none allows any text of at most 4,096 characters").choices([
        ...tokenRules,
        "none",
      ]),
    )
    .option("--json", "print the platform as JSON")
    .action((name: string, rule: TokenRule | "none", flags: JsonFlag) => {
      const tokenRule = rule === "none" ? null : rule;
      const done = `token rule of ${name}: ${rule}`;
      return changeRecord({ kind: "platform", name, change: { tokenRule }, done }, flags);
    });
}

function addCommonCommands(command: Command, kind: CatalogKind): void {
  command
    .command("list")
    .description(`list the push ${catalogs[kind].plural}`)
    .option("--json", "print JSON instead of a table")
    .action((flags: JsonFlag) => listRecords(kind, flags));
  command
    .command("show")
    .description(`show a push ${kind} and the number of its installations`)
    .argument("<name>", `name of the ${kind}`)
    .option("--json", "print JSON")
    .action((name: string, flags: JsonFlag) => showRecord(kind, name, flags));
  for (const [name, active, description] of [
    ["disable", false, `reject registrations and removals for this ${kind}; its tokens are not changed`],
    ["enable", true, `accept registrations and removals for a disabled ${kind} again`],
  ] as const)
    command
      .command(name)
      .description(description)
      .argument("<name>", `name of the ${kind}`)
      .option("--json", `print the ${kind} as JSON`)
      .action((record: string, flags: JsonFlag) =>
        changeRecord({ kind, name: record, change: { active }, done: `${name}d ${record}` }, flags),
      );
}

const addNewCommand = (command: Command, kind: CatalogKind): Command =>
  command
    .command("add")
    .description(`add push ${catalogs[kind].plural}`)
    .argument("<name...>", "names to add", parseName)
    .option("--json", "print the result as JSON")
    .action((names: string[], flags: AddFlags) => addRecords(kind, names, flags));

interface AddFlags extends JsonFlag {
  readonly tokenRule?: TokenRule | undefined;
}

function parseName(name: string, before: string[] | undefined): string[] {
  if (!name.isWellFormed() || !new RegExp(catalogNamePattern, "u").test(name))
    throw new InvalidArgumentError(`It must be ${catalogNameRule}.`);
  return [...(before ?? []), name];
}

const listRecords = (kind: CatalogKind, { json }: JsonFlag): Promise<void> =>
  runWithContext(async ({ services }) => {
    const { plural, setting, toView } = catalogs[kind];
    const records = await (await services())[plural].list();
    if (json) printJson({ [plural]: records.map(toView) });
    else if (records.length > 0) printLine(await formatRecords(kind, records));
    else printLine(`No ${plural} yet. Add one with \`topicsync ${plural} add NAME\`, or set ${setting}.`);
  });

function formatRecords(kind: CatalogKind, records: readonly PushPlatform[]): Promise<string> {
  const hasRules = kind === "platform";
  const head = [kind, "active", ...(hasRules ? ["token rule"] : [])];
  const rows = records.map(({ name, active, tokenRule }) => [
    sanitize(name),
    active ? "yes" : "no",
    ...(hasRules ? [sanitize(tokenRule ?? "none")] : []),
  ]);
  return formatTable(head, rows);
}

/** Adds the names that are free, and reports the others. */
const addRecords = (
  kind: CatalogKind,
  names: readonly string[],
  { json, tokenRule }: AddFlags,
): Promise<void> =>
  runWithContext(async ({ services, audit }) => {
    const record = audit();
    const catalog = (await services())[catalogs[kind].plural];
    const added: string[] = [];
    const rejected: { name: string; message: string }[] = [];
    for (const name of names) {
      try {
        record((await catalog.add({ name, tokenRule })).event);
        added.push(name);
      } catch (error) {
        if (!(error instanceof NameTakenError)) throw error;
        rejected.push({ name, message: error.message });
      }
    }
    if (rejected.length > 0) process.exitCode = exitCodes.rejected;
    if (json) {
      printJson({ added, rejected });
      return;
    }
    for (const name of added) printLine(sanitize(`added ${name}`));
    for (const { name, message } of rejected) printError(sanitize(`${name} not added: ${message}`));
  });

const showRecord = (kind: CatalogKind, name: string, { json }: JsonFlag): Promise<void> =>
  runWithContext(async (context) => {
    const services = await context.services();
    const record = (await services[catalogs[kind].plural].find(name)) ?? throwUnknown(kind, name);
    const installations = sumCounts(await countInstallations(services, kind, name));
    if (json) {
      printJson({ ...catalogs[kind].toView(record), installations });
      return;
    }
    printLine(sanitize(`name           ${record.name}`));
    printLine(`active         ${record.active ? "yes" : "no"}`);
    if (kind === "platform") printLine(sanitize(`token rule     ${record.tokenRule ?? "none"}`));
    printLine(`installations  ${installations.active} active, ${installations.inactive} inactive`);
  });

/** Names every application for a platform's count, since the index begins with the application. */
async function countInstallations(
  { installationReader, applications }: Services,
  kind: CatalogKind,
  name: string,
): Promise<InstallationCount[]> {
  if (kind === "application") return installationReader.countByScope({ applications: [name] });
  const names = (await applications.list()).map((one) => one.name);
  return installationReader.countByScope({ applications: names, platforms: [name] });
}

const sumCounts = (counts: readonly InstallationCount[]) => ({
  active: counts.reduce((sum, { active }) => sum + active, 0),
  inactive: counts.reduce((sum, { inactive }) => sum + inactive, 0),
});

interface RecordChange {
  readonly kind: CatalogKind;
  readonly name: string;
  readonly change: CatalogChange;
  /** The message of success. */
  readonly done: string;
}

const changeRecord = ({ kind, name, change, done }: RecordChange, { json }: JsonFlag): Promise<void> =>
  runWithContext(async ({ services, audit }) => {
    const recordEvent = audit();
    const catalog = (await services())[catalogs[kind].plural];
    const { record, event } = (await catalog.change(name, change)) ?? throwUnknown(kind, name);
    recordEvent(event);
    if (json) printJson(catalogs[kind].toView(record));
    else printLine(sanitize(done));
  });

function throwUnknown(kind: CatalogKind, name: string): never {
  throw new Error(`no ${kind} named "${name}"; see \`topicsync ${catalogs[kind].plural} list\``);
}
