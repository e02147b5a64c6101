import { formatFaults, type Fault } from "@topicsync/lib/errors";
import { createValidator } from "@topicsync/lib/validation";
import type { ImportedInstallations } from "../../schemas/installations/import.ts";
import { installationViewSchema, type InstallationView } from "../../schemas/installations/view.ts";
import type { Catalog } from "./catalog-cache.ts";
import { fromInstallationView, toKeyText, type Installation } from "./installation.ts";
import type { InstallationImportStore, Replacement } from "./stores.ts";
import { checkToken } from "./token-rules.ts";

/**
 * Stores the JSON of installations by their keys; says what is wrong with the others. Of two records with one
 * key, the one that changed later wins as a whole, so importing the same records again changes nothing.
 * Throws UnavailableError.
 */
export type ImportInstallations = (
  records: readonly unknown[],
  options: { readonly dryRun: boolean },
) => Promise<ImportedInstallations>;

const checkView = createValidator<InstallationView>(installationViewSchema);

export function createInstallationImport(
  importStore: InstallationImportStore,
  catalog: Catalog,
): ImportInstallations {
  /** Accepts disabled applications and platforms, since their installations are exported too. */
  async function normalizeToken(view: InstallationView): Promise<Fault | { readonly token: string }> {
    if ((await catalog.getApplication(view.application)) === undefined)
      return { path: "/application", message: `is not a push application: "${view.application}"` };
    const platform = await catalog.getPlatform(view.platform);
    if (platform === undefined)
      return { path: "/platform", message: `is not a push platform: "${view.platform}"` };
    const checked = checkToken(view.token, platform.tokenRule);
    return "token" in checked ? checked : { path: "/token", message: checked.fault };
  }

  /** Returns what is wrong with a record as a text. */
  async function read(record: unknown): Promise<Installation | string> {
    const checked = checkView(record);
    if (!checked.ok) return formatFaults(checked.faults, "The record");
    const found = await normalizeToken(checked.value);
    if ("path" in found) return formatFaults([found], "The record");
    return fromInstallationView({ ...checked.value, token: found.token });
  }

  return async (records, { dryRun }) => {
    const rejected: ImportedInstallations["rejected"] = [];
    const indexes = new Map<Installation, number>();
    for (const [index, record] of records.entries()) {
      const one = await read(record);
      if (typeof one === "string") rejected.push({ index, reason: one });
      else indexes.set(one, index);
    }
    const { absent, newer } = await compareWithStored(importStore, [...indexes.keys()]);
    const failed = dryRun ? new Map<Installation, string>() : await importStore.add(absent);
    const updated = dryRun ? newer.length : await importStore.replace(newer);
    const added = absent.length - failed.size;
    const taken = [...failed].flatMap(([one, reason]) => (reason === "id taken" ? [one] : []));
    const reason = "/id belongs to another installation; leave it out to get a new one.";
    rejected.push(...taken.map((one) => ({ index: indexes.get(one) ?? 0, reason })));
    return { added, updated, kept: indexes.size - added - updated - taken.length, rejected };
  };
}

async function compareWithStored(
  importStore: InstallationImportStore,
  installations: readonly Installation[],
): Promise<{ readonly absent: readonly Installation[]; readonly newer: readonly Replacement[] }> {
  const latest = new Map<string, Installation>();
  for (const one of installations) {
    const other = latest.get(toKeyText(one));
    if (other === undefined || other.updatedOn < one.updatedOn) latest.set(toKeyText(one), one);
  }
  const keys = await importStore.findKeys(installations.map(({ token }) => token));
  const storedByKey = new Map(keys.map((one) => [toKeyText(one), one]));
  const absent: Installation[] = [];
  const newer: Replacement[] = [];
  for (const [key, by] of latest) {
    const held = storedByKey.get(key);
    if (held === undefined) absent.push(by);
    else if (held.updatedOn < by.updatedOn) newer.push({ id: held.id, by });
  }
  return { absent, newer };
}
