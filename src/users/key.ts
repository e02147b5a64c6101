import { hash, randomBytes } from "node:crypto";

import type { CreatedKeyView, KeyView } from "../../schemas/api-key.ts";
import type { AuditEvent } from "../lib/audit.ts";
import { NameTakenError, RejectionError } from "../lib/errors.ts";
import { newId } from "../lib/sys-id.ts";

/** An API key as stored: the key itself is not. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  /** See `toKeyDigest`. */
  readonly digest: string;
  readonly roles: readonly string[];
  readonly createdOn: Date;
  readonly createdBy: string;
  readonly expiresOn: Date;
  readonly lastUsedOn: Date | undefined;
}

/** Every function throws UnavailableError. */
export interface KeyStore {
  /** False if two keys that are valid at `now` have the name. */
  insert(key: StoredKey, now: Date): Promise<boolean>;
  findByDigest(digest: string): Promise<StoredKey | undefined>;
  /** Sorted by name, at most 1,000. */
  list(): Promise<StoredKey[]>;
  /** Returns the key that was removed. */
  remove(id: string): Promise<StoredKey | undefined>;
  /** Sets the time of last use, unless a later one is stored. */
  markUsed(id: string, usedOn: Date): Promise<void>;
}

interface NewKey {
  readonly name: string;
  readonly roles: readonly string[];
  readonly expiresOn: Date;
}

/** Manages API keys, for HTTP and the command line. Every function throws UnavailableError. */
export interface KeyAdministration {
  list(): Promise<KeyView[]>;
  /** Throws a RejectionError if it has expired, and NameTakenError if two keys of this name are valid. */
  create(
    key: NewKey,
    createdBy: string,
  ): Promise<{ readonly key: CreatedKeyView; readonly event: AuditEvent }>;
  /** Undefined if there is no such key. */
  remove(id: string): Promise<{ readonly key: KeyView; readonly event: AuditEvent } | undefined>;
}

/** The beginning of every key, by which scanners for leaked secrets can find it. */
export const keyPrefix = "tsk_";

/** The prefix of the names of callers with a key. Names of stored users contain no colon. */
export const keyUserPrefix = "key:";

/** A digest suffices: nobody can guess 256 random bits. */
export const toKeyDigest = (key: string): string => hash("sha256", key, "base64url");

export function createKeyAdministration(
  store: KeyStore,
  now: () => Date = () => new Date(),
): KeyAdministration {
  return {
    list: async () => (await store.list()).map(toKeyView),

    async create({ name, roles, expiresOn }, createdBy) {
      const createdOn = now();
      if (!(expiresOn > createdOn))
        throw new RejectionError("SCHEMA_VIOLATION", "The key would be expired.", [
          { path: "/expiresOn", message: "must be in the future" },
        ]);
      const key = `${keyPrefix}${randomBytes(32).toString("base64url")}`;
      const stored: StoredKey = {
        ...{ id: newId(), name, digest: toKeyDigest(key), roles: [...new Set(roles)] },
        ...{ createdOn, createdBy, expiresOn, lastUsedOn: undefined },
      };
      if (!(await store.insert(stored, createdOn)))
        throw new NameTakenError(`two valid keys are named "${name}"; delete one of them first`);
      return { key: { ...toKeyView(stored), key }, event: toEvent("key.created", stored) };
    },

    async remove(id) {
      const removed = await store.remove(id);
      return removed && { key: toKeyView(removed), event: toEvent("key.deleted", removed) };
    },
  };
}

const toEvent = (action: "key.created" | "key.deleted", { id, name, roles }: StoredKey): AuditEvent => ({
  action,
  key: name,
  id,
  roles,
});

const toKeyView = ({ id, name, roles, createdOn, createdBy, expiresOn, lastUsedOn }: StoredKey): KeyView => ({
  id,
  name,
  roles: [...roles],
  createdOn: createdOn.toISOString(),
  createdBy,
  expiresOn: expiresOn.toISOString(),
  lastUsedOn: lastUsedOn?.toISOString() ?? null,
});
