import { installationViewSchema, type InstallationView } from "../../schemas/installation-view.ts";
import { toSentence, type Fault } from "../lib/errors.ts";
import { createValidator } from "../lib/validation.ts";
import type { Catalog } from "./catalog-cache.ts";
import { fromInstallationView, type Installation } from "./installation.ts";
import type { InstallationKey } from "./stores.ts";
import { checkToken } from "./token-rules.ts";

/** Which record holds a key, and when it was changed last. */
export interface StoredKey extends InstallationKey {
  readonly id: string;
  readonly updatedOn: Date;
}

/** A newer record, for the stored one of this id. */
export interface Replacement {
  readonly id: string;
  readonly by: Installation;
}

/** Where imported installations are put. Every function throws UnavailableError. */
export interface InstallationArchive {
  findKeys(tokens: readonly string[]): Promise<StoredKey[]>;
  /**
   * Stores records of keys that nobody holds. Gives those that were not stored: another record has the id, or somebody
   * registered the key meanwhile.
   */
  add(installations: readonly Installation[]): Promise<ReadonlyMap<Installation, "id taken" | "key taken">>;
  /** Replaces records that are still older; gives how many. */
  replace(replacements: readonly Replacement[]): Promise<number>;
}

/** What became of records: `kept` are those of which the stored record is as new, or newer. */
export interface ImportedInstallations {
  readonly added: number;
  readonly updated: number;
  readonly kept: number;
  /** Records whose id another installation has. */
  readonly idTaken: readonly Installation[];
}

/** Imports installations that were exported. */
export interface InstallationImporter {
  /** Reads the JSON of one; a text says why it cannot be taken. Throws UnavailableError. */
  read(json: unknown): Promise<Installation | string>;
  /**
   * Stores some, each under its application, platform and token; of two records of one key the one that was changed
   * later wins as a whole. To import the same again changes nothing. Throws UnavailableError.
   */
  store(
    installations: readonly Installation[],
    how: { readonly dryRun: boolean },
  ): Promise<ImportedInstallations>;
}

const checkView = createValidator<InstallationView>(installationViewSchema);

/** Makes the importer. */
export function createInstallationImporter(
  archive: InstallationArchive,
  catalog: Catalog,
  newId: () => string,
): InstallationImporter {
  /** Disabled applications and platforms are fine: their installations were exported as well. */
  async function faultOf(view: InstallationView): Promise<Fault | { readonly token: string }> {
    if ((await catalog.application(view.application)) === undefined)
      return { path: "/application", message: `names no push application: "${view.application}"` };
    const platform = await catalog.platform(view.platform);
    if (platform === undefined)
      return { path: "/platform", message: `names no push platform: "${view.platform}"` };
    const checked = checkToken(view.token, platform.tokenRule);
    return "token" in checked ? checked : { path: "/token", message: checked.fault };
  }

  return {
    async read(json) {
      const checked = checkView(json);
      if (!checked.ok) return toSentence(checked.faults, "The record");
      const found = await faultOf(checked.value);
      if ("path" in found) return toSentence([found], "The record");
      return fromInstallationView({ ...checked.value, token: found.token }, newId);
    },

    async store(given, { dryRun }) {
      const latest = new Map<string, Installation>();
      for (const one of given) {
        const other = latest.get(nameOf(one));
        if (other === undefined || other.updatedOn < one.updatedOn) latest.set(nameOf(one), one);
      }
      const stored = await archive.findKeys(given.map(({ token }) => token));
      const byName = new Map(stored.map((one) => [nameOf(one), one]));
      const absent: Installation[] = [];
      const newer: Replacement[] = [];
      for (const [name, by] of latest) {
        const held = byName.get(name);
        if (held === undefined) absent.push(by);
        else if (held.updatedOn < by.updatedOn) newer.push({ id: held.id, by });
      }
      const failed = dryRun ? new Map<Installation, string>() : await archive.add(absent);
      const updated = dryRun ? newer.length : await archive.replace(newer);
      const added = absent.length - failed.size;
      const idTaken = [...failed].flatMap(([one, why]) => (why === "id taken" ? [one] : []));
      return { added, updated, kept: given.length - added - updated - idTaken.length, idTaken };
    },
  };
}

const nameOf = ({ application, platform, token }: InstallationKey): string =>
  JSON.stringify([application, platform, token]);
