import { exitCodes, NameTakenError } from "../../lib/errors.ts";
import type { CatalogChange } from "../../installations/catalog.ts";
import {
  createCatalogAdministration,
  type CatalogAdministration,
} from "../../installations/catalog-administration.ts";
import type { TokenRule } from "../../installations/token-rules.ts";
import { createCatalogStore } from "../../storage/catalog.ts";
import type { Database } from "../../storage/database.ts";
import { countInstallations, type PlatformCount } from "../../storage/installation-counts.ts";
import { newId } from "../../lib/sys-id.ts";
import { runCommand, type RecordChange } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { printError, printJson, printLine, sanitize } from "../output/output.ts";
import { formatTable } from "../output/table.ts";

/** The commands are called by what they manage. */
export type CatalogName = "applications" | "platforms";

const kinds = { applications: "application", platforms: "platform" } as const;

/** Gives the work the applications or platforms of the database. */
const withCatalog = <T>(
  catalog: CatalogName,
  work: (names: CatalogAdministration, database: Database) => Promise<T>,
): Promise<T> =>
  runCommand(async ({ database }) => {
    const opened = await database();
    return work(administrationOf(opened, catalog), opened);
  });

/** As `withCatalog`, with what records a change of one of them. */
const changingCatalog = <T>(
  catalog: CatalogName,
  work: (names: CatalogAdministration, record: RecordChange) => Promise<T>,
): Promise<T> =>
  runCommand(async ({ database, audit }) => {
    const record = audit();
    return work(administrationOf(await database(), catalog), record);
  });

const administrationOf = (database: Database, catalog: CatalogName): CatalogAdministration =>
  createCatalogAdministration(kinds[catalog], createCatalogStore(database, newId)[catalog]);

/** Lists them by name. */
export async function listNames(catalog: CatalogName, { json }: JsonFlag): Promise<void> {
  const found = await withCatalog(catalog, (known) => known.list());
  if (json) {
    printJson(found);
    return;
  }
  if (found.length === 0) {
    const setting = catalog === "applications" ? "PUSH_APPLICATIONS" : "PUSH_PLATFORMS";
    printLine(
      `There are no ${catalog} yet: add one with \`topicsync ${catalog} add NAME\`, or set ${setting}.`,
    );
    return;
  }
  const hasRules = catalog === "platforms";
  const head = [catalog.slice(0, -1), "active", ...(hasRules ? ["token rule"] : [])];
  const rows = found.map(({ name, active, tokenRule }) => [
    sanitize(name),
    active ? "yes" : "no",
    ...(hasRules ? [sanitize(tokenRule ?? "none")] : []),
  ]);
  printLine(await formatTable(head, rows));
}

/** Adds names; those that are there already are refused, and the others added nevertheless. */
export async function addName(
  catalog: CatalogName,
  names: readonly string[],
  { json, tokenRule }: JsonFlag & { readonly tokenRule?: TokenRule | undefined },
): Promise<void> {
  const added: string[] = [];
  const refused: { name: string; message: string }[] = [];
  await changingCatalog(catalog, async (known, record) => {
    for (const name of names) {
      try {
        record((await known.add({ name, tokenRule })).event);
        added.push(name);
      } catch (error) {
        if (!(error instanceof NameTakenError)) throw error;
        refused.push({ name, message: error.message });
      }
    }
  });
  if (refused.length > 0) process.exitCode = exitCodes.refused;
  if (json) {
    printJson({ added, refused });
    return;
  }
  for (const name of added) printLine(sanitize(`added ${name}`));
  for (const { name, message } of refused) printError(sanitize(`${name} is not added: ${message}`));
}

/** Shows one, and counts its installations. */
export async function showName(catalog: CatalogName, name: string, { json }: JsonFlag): Promise<void> {
  const { record, installations } = await withCatalog(catalog, async (known, database) => {
    const found = (await known.find(name)) ?? none(catalog, name);
    return { record: found, installations: await installationsOf(database, catalog, name) };
  });
  if (json) {
    printJson({ ...record, installations });
    return;
  }
  const { active, all } = installations;
  printLine(sanitize(`name           ${record.name}`));
  printLine(`active         ${record.active ? "yes" : "no"}`);
  if (catalog === "platforms") printLine(sanitize(`token rule     ${record.tokenRule ?? "none"}`));
  printLine(`installations  ${active} active, ${all} in all`);
}

/** Counts by the index, which begins with the application. */
async function installationsOf(
  database: Database,
  catalog: CatalogName,
  name: string,
): Promise<PlatformCount> {
  if (catalog === "applications") return countInstallations(database, { applications: [name] });
  const applications = await createCatalogStore(database, newId).applications.list();
  return countInstallations(database, {
    applications: applications.map((application) => application.name),
    platform: name,
  });
}

/** Changes one, and says what was done. */
export async function changeName(
  what: {
    readonly catalog: CatalogName;
    readonly name: string;
    readonly changeName: CatalogChange;
    readonly done: string;
  },
  { json }: JsonFlag,
): Promise<void> {
  const { catalog, name, done } = what;
  const changed = await changingCatalog(catalog, async (known, record) => {
    const { record: found, event } = (await known.change(name, what.changeName)) ?? none(catalog, name);
    record(event);
    return found;
  });
  if (json) printJson(changed);
  else printLine(sanitize(done));
}

function none(catalog: CatalogName, name: string): never {
  throw new Error(
    `there is no ${kinds[catalog]} named "${name}"; \`topicsync ${catalog} list\` shows those there are`,
  );
}
