import { exitCodes } from "../errors.ts";
import {
  NameTaken,
  type CatalogChange,
  type NamedStore,
  type PushPlatform,
} from "../installations/catalog.ts";
import type { TokenRule } from "../installations/token-rules.ts";
import { createCatalogStore } from "../storage/catalog.ts";
import type { Database } from "../storage/database.ts";
import { countInstallations, type InstallationCount } from "../storage/installation-counts.ts";
import { newId } from "../topics/topic.ts";
import { connected } from "./connected.ts";
import type { JsonFlag } from "./json-flag.ts";
import { complain, say, visible } from "./output.ts";

/** Applications and platforms have the same shape, but for a platform's rule. */
export type CatalogName = "applications" | "platforms";

const withCatalog = <T>(
  catalog: CatalogName,
  work: (store: NamedStore<PushPlatform>, database: Database) => Promise<T>,
): Promise<T> =>
  connected(async ({ database }) => {
    const opened = await database();
    return work(createCatalogStore(opened, newId)[catalog], opened);
  });

/** As `withCatalog`, with what records a change of one of them. */
const changingCatalog = <T>(
  catalog: CatalogName,
  work: (store: NamedStore<PushPlatform>, record: RecordCatalogChange) => Promise<T>,
): Promise<T> =>
  connected(async ({ database, audit }) => {
    const record = audit();
    return work(createCatalogStore(await database(), newId)[catalog], (verb, name, tokenRule) => {
      if (catalog === "platforms") {
        record({ action: `platform.${verb}`, platform: name, ...(tokenRule !== undefined && { tokenRule }) });
      } else if (verb !== "changed") record({ action: `application.${verb}`, application: name });
    });
  });

type RecordCatalogChange = (
  verb: "added" | "changed" | "disabled" | "enabled",
  name: string,
  tokenRule?: string | null,
) => void;

/** Lists them by name. */
export async function list(catalog: CatalogName, { json }: JsonFlag): Promise<void> {
  const found = await withCatalog(catalog, (store) => store.list());
  if (json) {
    sayJson(found);
    return;
  }
  if (found.length === 0) {
    const setting = catalog === "applications" ? "PUSH_APPLICATIONS" : "PUSH_PLATFORMS";
    say(`There are no ${catalog} yet: add one with \`topicsync ${catalog} add NAME\`, or set ${setting}.`);
    return;
  }
  const hasRules = catalog === "platforms";
  const { default: Table } = await import("cli-table3");
  const table = new Table({
    head: [catalog.slice(0, -1), "active", ...(hasRules ? ["token rule"] : [])],
    style: { head: [], border: [] },
  });
  table.push(
    ...found.map(({ name, active, tokenRule }) => [
      visible(name),
      active ? "yes" : "no",
      ...(hasRules ? [visible(tokenRule ?? "none")] : []),
    ]),
  );
  say(table.toString());
}

/** Adds names; those that are there already are refused, and the others added nevertheless. */
export async function add(
  catalog: CatalogName,
  names: readonly string[],
  { json, tokenRule }: JsonFlag & { readonly tokenRule?: TokenRule | undefined },
): Promise<void> {
  const added: string[] = [];
  const refused: { name: string; message: string }[] = [];
  await changingCatalog(catalog, async (store, record) => {
    for (const name of names) {
      try {
        await store.insert({ name, active: true, tokenRule });
        record("added", name, tokenRule);
        added.push(name);
      } catch (error) {
        if (!(error instanceof NameTaken)) throw error;
        refused.push({ name, message: error.message });
      }
    }
  });
  if (refused.length > 0) process.exitCode = exitCodes.refused;
  if (json) {
    sayJson({ added, refused });
    return;
  }
  for (const name of added) say(visible(`added ${name}`));
  for (const { name, message } of refused) complain(visible(`${name} is not added: ${message}`));
}

/** Shows one, and counts its installations. */
export async function show(catalog: CatalogName, name: string, { json }: JsonFlag): Promise<void> {
  const { record, installations } = await withCatalog(catalog, async (store, database) => {
    const found = await mustFind(store, catalog, name);
    return { record: found, installations: await installationsOf(database, catalog, name) };
  });
  if (json) {
    sayJson({ ...record, installations });
    return;
  }
  const { active, all } = installations;
  say(visible(`name           ${record.name}`));
  say(`active         ${record.active ? "yes" : "no"}`);
  if (catalog === "platforms") say(visible(`token rule     ${record.tokenRule ?? "none"}`));
  say(`installations  ${active} active, ${all} in all`);
}

/** Counts by the index, which begins with the application. */
async function installationsOf(
  database: Database,
  catalog: CatalogName,
  name: string,
): Promise<InstallationCount> {
  if (catalog === "applications") return countInstallations(database, { applications: [name] });
  const applications = await createCatalogStore(database, newId).applications.list();
  return countInstallations(database, {
    applications: applications.map((application) => application.name),
    platform: name,
  });
}

/** Changes one, and says what was done. */
export async function change(
  what: {
    readonly catalog: CatalogName;
    readonly name: string;
    readonly change: CatalogChange;
    readonly done: string;
  },
  { json }: JsonFlag,
): Promise<void> {
  const { catalog, name, done } = what;
  const changed = await changingCatalog(catalog, async (store, record) => {
    await store.change(name, what.change);
    const found = await mustFind(store, catalog, name);
    const { active, tokenRule } = what.change;
    if (active === undefined) record("changed", name, tokenRule);
    else record(active ? "enabled" : "disabled", name);
    return found;
  });
  if (json) sayJson(changed);
  else say(visible(done));
}

async function mustFind(
  store: NamedStore<PushPlatform>,
  catalog: CatalogName,
  name: string,
): Promise<PushPlatform> {
  const found = await store.find(name);
  if (found === undefined) {
    throw new Error(
      `there is no ${catalog.slice(0, -1)} named "${name}"; \`topicsync ${catalog} list\` shows those there are`,
    );
  }
  return found;
}

const sayJson = (value: unknown): void => {
  say(JSON.stringify(value, undefined, 2));
};
