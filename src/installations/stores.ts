import type { InstallationCount } from "../../schemas/overview.ts";
import type { DeviceAttributes } from "./attributes.ts";
import type { Installation, InstallationKey, Scope } from "./installation.ts";

/** Activates a token and assigns it to the user, regardless of its previous state and owner. */
export interface RegisterWrite {
  readonly kind: "register";
  readonly key: InstallationKey;
  readonly user: string;
  /** The token that this one replaces; deactivated if it belongs to the same user. */
  readonly previousToken?: string | undefined;
  /** Undefined: those of the same user are kept. */
  readonly attributes?: DeviceAttributes | undefined;
}

/** Deactivates the active tokens of a user for an application on a platform. */
export interface RemoveWrite extends Scope {
  readonly kind: "remove";
  readonly user: string;
  /** Only this one. */
  readonly token?: string | undefined;
  readonly reason: string;
}

export type InstallationWrite = RegisterWrite | RemoveWrite;

/** Writes registrations and removals. */
export interface InstallationStore {
  /**
   * Applies the writes in any order. Returns the error of each write, `unfinished`, or undefined for an
   * acknowledged one. When a token moves to another user, its record keeps the previous owner and the time.
   * Throws UnavailableError.
   */
  readonly write: (writes: readonly InstallationWrite[]) => Promise<readonly unknown[]>;
}

/** The result of a removal that has deactivated some of very many tokens. Write it again for the others. */
export const unfinished = Symbol("unfinished");

/** Selects installations by the values of their records; absent members select everything. */
export interface InstallationSelection {
  readonly applications?: readonly string[] | undefined;
  readonly platforms?: readonly string[] | undefined;
  /** An index finds a user's tokens only together with `applications` and `platforms`. */
  readonly user?: string | undefined;
  readonly active?: boolean | undefined;
  /** The last characters of the token. */
  readonly tokenSuffix?: string | undefined;
  /** Last registered before this time. */
  readonly unseenSince?: Date | undefined;
}

/** The result of one query of a listing. */
export interface InstallationChunk {
  readonly installations: readonly Installation[];
  /** The id to continue after; undefined at the end. */
  readonly lastId: string | undefined;
  /** The number of records examined, as far as known. */
  readonly scanned: number;
}

/** Reads installations. Every function throws UnavailableError. */
export interface InstallationReader {
  /**
   * Returns at most `limit` selected installations after an id, in the order of ids. It examines a bounded
   * number of records, so a chunk may be short, or empty, before the end.
   */
  read(
    selection: InstallationSelection,
    page: { readonly afterId: string | undefined; readonly limit: number },
  ): Promise<InstallationChunk>;
  /** Returns active installations of these users, sorted by user and id, and whether there are more. */
  readActive(
    selection: {
      readonly application: string;
      readonly platforms: readonly string[];
      readonly users: readonly string[];
      /** Only installations with all of these. */
      readonly attributes?: DeviceAttributes | undefined;
    },
    page: {
      readonly after: { readonly user: string; readonly id: string } | undefined;
      readonly limit: number;
    },
  ): Promise<{ readonly installations: readonly Installation[]; readonly hasNext: boolean }>;
  /**
   * Returns the active installations of a user other than `token` without the `keep` that were seen last, at
   * most 250.
   */
  findSurplus(selection: {
    readonly application: string;
    readonly platforms: readonly string[];
    readonly user: string;
    readonly token: string;
    readonly keep: number;
  }): Promise<readonly Installation[]>;
  /** Counts by application and platform, sorted by both. Reads every selected record. */
  countByScope(
    selection: Pick<InstallationSelection, "applications" | "platforms">,
  ): Promise<InstallationCount[]>;
}

/** Deactivates installations. Every function throws UnavailableError. */
export interface InstallationDeactivator {
  /**
   * Deactivates the active ones of these ids, with a time only those still unseen since, and returns their
   * keys. Throws only when none was deactivated: after an outage half way, the keys so far are returned, for
   * the audit.
   */
  deactivateByIds(
    ids: readonly string[],
    reason: string,
    unseenSince?: Date,
  ): Promise<readonly InstallationKey[]>;
  /** Deactivates the ones of these ids that are active and still unseen since. Returns how many. */
  deactivateUnseen(
    ids: readonly string[],
    condition: { readonly unseenSince: Date; readonly reason: string },
  ): Promise<number>;
  /** Deletes the ones of these ids that are still inactive since before a time. Returns how many. */
  deleteInactive(ids: readonly string[], deactivatedBefore: Date): Promise<number>;
  /**
   * Deactivates all users' active tokens for an application on a platform, in batches. Every token registered
   * before the call is inactive after it, unless it was registered again in the meantime; tokens registered
   * during the call may end either way. After a failure some are deactivated; repeat the call for the rest.
   */
  readonly deactivateAll: DeactivateAll;
}

export type DeactivateAll = (request: DeactivateAllRequest) => Promise<void>;

export interface DeactivateAllRequest extends Scope {
  readonly reason: string;
}

/** The record that holds a key, and when it changed last. */
interface StoredKey extends InstallationKey {
  readonly id: string;
  readonly updatedOn: Date;
}

/** A newer version of the stored record with this id. */
export interface Replacement {
  readonly id: string;
  readonly by: Installation;
}

/** Stores imported installations. Every function throws UnavailableError. */
export interface InstallationImportStore {
  findKeys(tokens: readonly string[]): Promise<StoredKey[]>;
  /**
   * Inserts records. Returns those that were not inserted: another record has the id, or the key was
   * registered in the meantime.
   */
  add(installations: readonly Installation[]): Promise<ReadonlyMap<Installation, "id taken" | "key taken">>;
  /** Replaces records that are still older. Returns how many. */
  replace(replacements: readonly Replacement[]): Promise<number>;
}
