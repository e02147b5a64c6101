/**
 * Erasing a person. A request does all that it can, and can be repeated at any time: what is stored of an
 * erasure is what it needs to continue, until nothing is left.
 *
 * Invariant: an erasure ends only after the name was searched for everywhere and not found, at a time when no
 * instance has accepted a request of the person for a while.
 */
import { createHmac, randomBytes } from "node:crypto";

import { elapsed } from "@topicsync/lib/platform";
import { createSingleFlight } from "@topicsync/lib/concurrency/single-flight";
import type { Erasure, ErasedKey } from "../../schemas/user.ts";
import type { SessionStore } from "./session.ts";
import type { IsBeingErased, UserStore } from "./user.ts";

/** An erasure that has not ended. */
export interface BegunErasure {
  /** Replaces the name. */
  readonly pseudonym: string;
  /** The erasure cannot end before. */
  readonly dueOn: Date;
  /** The API keys that were revoked. */
  readonly keys: readonly ErasedKey[];
}

/** Every function throws UnavailableError. */
export interface ErasureStore {
  /** The names of erasures that have not ended. */
  listBegun(): Promise<ReadonlySet<string>>;
  /** Whether an erasure, a key or another record names somebody. Reads all records. */
  isNamed(name: string): Promise<boolean>;
  /** Begins an erasure, unless there is one, and returns it. */
  begin(name: string, erasure: Pick<BegunErasure, "pseudonym" | "dueOn">): Promise<void>;
  /** Revokes the keys that somebody has made, and returns the erasure with all keys that it has revoked. */
  revokeKeys(name: string): Promise<BegunErasure>;
  /**
   * Replaces a name in all records, and deactivates its push tokens. Once the erasure is due, deletes those
   * that an earlier call has deactivated. Returns how many records had the name, and how many tokens were
   * deleted.
   */
  replaceName(
    name: string,
    pseudonym: string,
    when: { readonly isDue: boolean },
  ): Promise<{ readonly found: number; readonly tokens: number }>;
  postpone(name: string, dueOn: Date): Promise<void>;
  end(name: string): Promise<void>;
}

/** Erases a person, or continues to. Undefined if nothing names the person. Throws UnavailableError. */
export type Erase = (name: string) => Promise<Erasure | undefined>;

interface EraseOptions {
  readonly store: ErasureStore;
  readonly users: Pick<UserStore, "find" | "change" | "remove">;
  readonly sessions: Pick<SessionStore, "list" | "removeAll">;
  /** The key of the database. */
  readonly getSecret: () => Promise<Buffer>;
  readonly now?: () => Date;
}

/**
 * Until then, requests that were accepted before are done: instances remember credentials for 15 seconds, a
 * body may take 30 to arrive, and a write 10.
 */
const settleMs = 60_000;
/** The same for a write that had read the name before it was replaced. */
const repeatMs = 10_000;

export function createErase({
  store,
  users,
  sessions,
  getSecret,
  now = () => new Date(),
}: EraseOptions): Erase {
  const later = (ms: number): Date => new Date(now().getTime() + ms);
  // The empty name is what many records have instead of one.
  const isKnown = async (name: string): Promise<boolean> =>
    name !== "" &&
    ((await users.find(name)) !== undefined ||
      (await sessions.list(name)).length > 0 ||
      (await store.isNamed(name)));

  return async (name) => {
    if (!(await isKnown(name))) return undefined;
    const nameDigest = digestName(await getSecret(), name);
    // From now on no instance accepts the name for long, also after a kill; another user cannot get it.
    await store.begin(name, { pseudonym: createPseudonym(), dueOn: later(settleMs) });
    await users.change(name, { active: false, roles: [], passwordHash: "" });
    await sessions.removeAll(name);
    const { pseudonym, dueOn, keys } = await store.revokeKeys(name);
    const isDue = dueOn <= now();
    const { found, tokens } = await store.replaceName(name, pseudonym, { isDue });
    const erasure = { pseudonym, nameDigest, keys: [...keys], deletedTokens: tokens };
    if (isDue && found === 0) {
      await users.remove(name);
      await store.end(name);
      return { ...erasure, complete: true, repeatOn: null };
    }
    const repeatOn = isDue ? later(repeatMs) : dueOn;
    if (isDue) await store.postpone(name, repeatOn);
    return { ...erasure, complete: false, repeatOn: repeatOn.toISOString() };
  };
}

/** Random, so that nobody can tell whose it was. */
const createPseudonym = (): string => `erased-${randomBytes(8).toString("hex")}`;

/** Identifies a name, with a key that is derived from the database's. */
export const digestName = (secret: Buffer, name: string): string =>
  createHmac("sha256", createHmac("sha256", secret).update("topicsync erased names").digest())
    .update(name)
    .digest("hex");

const listTtlMs = 5_000;

/** If the store does not respond, what was read last holds: nobody can register then either. */
export function createIsBeingErased({ listBegun }: Pick<ErasureStore, "listBegun">): IsBeingErased {
  let names: ReadonlySet<string> = new Set();
  let readAt = -Infinity;
  const share = createSingleFlight<undefined>();
  async function read(): Promise<undefined> {
    const startedAt = elapsed();
    names = await listBegun().catch(() => names);
    readAt = startedAt;
  }
  return (name) =>
    elapsed() - readAt < listTtlMs ? names.has(name) : share("", read).then(() => names.has(name));
}
