import { hash, randomBytes } from "node:crypto";

import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { NameTakenError, RejectionError } from "@topicsync/lib/errors";
import { newId } from "@topicsync/lib/sys-id";
import type { CreatedKeyView, KeyView } from "../../schemas/api-key.ts";
import type { User } from "./user.ts";

/** An API key as stored: the key itself is not. */
export interface StoredKey {
  readonly id: string;
  readonly name: string;
  /** See `toKeyDigest`. */
  readonly digest: string;
  readonly roles: readonly string[];
  readonly createdOn: Date;
  readonly createdBy: string;
  /**
   * The stored user at the beginning: who created the key, or the key that created it, and so on. Undefined
   * if it was the command line or a user of an OpenID provider.
   */
  readonly maker: string | undefined;
  readonly expiresOn: Date;
  readonly lastUsedOn: Date | undefined;
}

/** Where a list of keys continues: after this name and slot. */
export type KeyPosition = readonly [name: string, slot: number];

/** A page of a list of keys, sorted by name. */
interface KeyPage<T> {
  readonly keys: readonly T[];
  /** Undefined on the last page. */
  readonly next: KeyPosition | undefined;
}

interface KeyPageQuery {
  readonly after: KeyPosition | undefined;
  readonly limit: number;
}

/** Every function throws UnavailableError. */
export interface KeyStore {
  /** False if two keys have the name that expire after `at` and were created after `since`. */
  insert(key: StoredKey, valid: { readonly at: Date; readonly since: Date }): Promise<boolean>;
  findByDigest(digest: string): Promise<StoredKey | undefined>;
  findPage(query: KeyPageQuery): Promise<KeyPage<StoredKey>>;
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
export type KeyAdministration = ReturnType<typeof createKeyAdministration>;

/** The beginning of every key, by which scanners for leaked secrets can find it. */
export const keyPrefix = "tsk_";

/** The prefix of the names of callers with a key. Names of stored users contain no colon. */
export const keyUserPrefix = "key:";

/** A digest suffices: nobody can guess 256 random bits. */
export const toKeyDigest = (key: string): string => hash("sha256", key, "base64url");

const dayMs = 24 * 60 * 60_000;

/** When a key ends: when it expires, or `maxDays` after its creation if that is earlier. */
export const toKeyEnd = (
  { createdOn, expiresOn }: Pick<StoredKey, "createdOn" | "expiresOn">,
  maxDays: number,
): Date => new Date(Math.min(expiresOn.getTime(), createdOn.getTime() + maxDays * dayMs));

/** The stored user with whom the keys of a caller end. Names of others contain a colon. */
const findMaker = ({ name, maker }: Pick<User, "name" | "maker">): string | undefined =>
  maker ?? (name.includes(":") ? undefined : name);

/** @param maxDays - The longest life of a key; a change applies to existing keys as well. */
export function createKeyAdministration(
  store: KeyStore,
  maxDays: number,
  now: () => Date = () => new Date(),
) {
  const toView = (key: StoredKey): KeyView => toKeyView({ ...key, expiresOn: toKeyEnd(key, maxDays) });
  return {
    async findPage(query: KeyPageQuery): Promise<KeyPage<KeyView>> {
      const { keys, next } = await store.findPage(query);
      return { keys: keys.map(toView), next };
    },

    /**
     * Throws a RejectionError if it has expired or would live too long, and NameTakenError if two keys of this
     * name are valid.
     */
    async create({ name, roles, expiresOn }: NewKey, creator: Pick<User, "name" | "maker">) {
      const createdOn = now();
      if (!(expiresOn > createdOn)) throw rejectExpiry("The key would be expired.", "must be in the future");
      if (toKeyEnd({ createdOn, expiresOn }, maxDays) < expiresOn)
        throw rejectExpiry("The key would live too long.", `must be within ${maxDays} days (KEYS_MAX_DAYS)`);
      const key = `${keyPrefix}${randomBytes(32).toString("base64url")}`;
      const stored: StoredKey = {
        ...{ id: newId(), name, digest: toKeyDigest(key), roles: [...new Set(roles)] },
        ...{ createdOn, createdBy: creator.name, maker: findMaker(creator) },
        ...{ expiresOn, lastUsedOn: undefined },
      };
      const since = new Date(createdOn.getTime() - maxDays * dayMs);
      if (!(await store.insert(stored, { at: createdOn, since })))
        throw new NameTakenError(`two valid keys are named "${name}"; delete one of them first`);
      const view: CreatedKeyView = { ...toKeyView(stored), key };
      return { key: view, event: toEvent("key.created", stored) };
    },

    /** Undefined if there is no such key. */
    async remove(id: string) {
      const removed = await store.remove(id);
      return removed && { key: toView(removed), event: toEvent("key.deleted", removed) };
    },
  };
}

const rejectExpiry = (message: string, fault: string): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", message, [{ path: "/expiresOn", message: fault }]);

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
