import { installationViewSchema, type InstallationView } from "../../schemas/installation-view.ts";
import { formatFaults, type Fault } from "../lib/errors.ts";
import { createValidator } from "../lib/validation.ts";
import type { Catalog } from "./catalog-cache.ts";
import { fromInstallationView, toKeyText, type Installation } from "./installation.ts";
import type { InstallationImportStore, Replacement } from "./stores.ts";
import { checkToken } from "./token-rules.ts";

interface ImportResult {
  readonly added: number;
  readonly updated: number;
  /** Records whose stored version is as new, or newer. */
  readonly kept: number;
  /** Records whose id belongs to another installation. */
  readonly idTaken: readonly Installation[];
}

/** Imports exported installations. Both functions throw UnavailableError. */
export interface InstallationImporter {
  /** Converts the JSON of an installation. Returns what is wrong with it as a text. */
  read(json: unknown): Promise<Installation | string>;
  /**
   * Stores installations by their keys. Of two records with one key, the one that changed later wins as a
   * whole, so importing the same records again changes nothing.
   */
  store(installations: readonly Installation[], options: { readonly dryRun: boolean }): Promise<ImportResult>;
}

const checkView = createValidator<InstallationView>(installationViewSchema);

export function createInstallationImporter(
  importStore: InstallationImportStore,
  catalog: Catalog,
): InstallationImporter {
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

  return {
    async read(json) {
      const checked = checkView(json);
      if (!checked.ok) return formatFaults(checked.faults, "The record");
      const found = await normalizeToken(checked.value);
      if ("path" in found) return formatFaults([found], "The record");
      return fromInstallationView({ ...checked.value, token: found.token });
    },

    async store(installations, { dryRun }) {
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
      const failed = dryRun ? new Map<Installation, string>() : await importStore.add(absent);
      const updated = dryRun ? newer.length : await importStore.replace(newer);
      const added = absent.length - failed.size;
      const idTaken = [...failed].flatMap(([one, reason]) => (reason === "id taken" ? [one] : []));
      const kept = installations.length - added - updated - idTaken.length;
      return { added, updated, kept, idTaken };
    },
  };
}
