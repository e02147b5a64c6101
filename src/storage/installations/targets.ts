import type { Collection, Filter } from "mongodb";

import { toKeyText, type InstallationKey } from "../../installations/installation.ts";
import type { InstallationWrite, RemoveWrite } from "../../installations/stores.ts";
import type { InstallationRecord } from "./records.ts";

/** A record that another program wrote may have no time. */
export type ActiveRecord = Pick<InstallationRecord, "_id" | keyof InstallationKey | "user"> &
  Partial<Pick<InstallationRecord, "sys_updated_on">>;

/** What the writes of a round deactivate. */
export interface Targets {
  /** The active records that a write deactivates, as they were read. */
  readonly get: (write: InstallationWrite) => readonly ActiveRecord[];
  /** Removals that may have more. */
  readonly unfinished: ReadonlySet<InstallationWrite>;
}

type Installations = Collection<InstallationRecord>;

export const deactivates = (write: InstallationWrite): boolean =>
  write.kind === "remove" || write.previousToken !== undefined;

const noTargets: Targets = { get: () => [], unfinished: new Set() };

/**
 * Reads what these writes deactivate; of the tokens of users who remove all of theirs at most `maxRemoved`.
 * A statement that the store runs late, after it was repeated and acknowledged, must not deactivate what was
 * registered since.
 */
export async function readTargets(
  installations: Installations,
  writes: readonly InstallationWrite[],
  maxRemoved: number,
): Promise<Targets> {
  if (!writes.some(deactivates)) return noTargets;
  const removals = writes
    .filter((write) => write.kind === "remove")
    .filter(({ token }) => token === undefined);
  const tokens = writes.flatMap((write) => {
    const token = write.kind === "remove" ? write.token : write.previousToken;
    return token ?? [];
  });
  const [owned, single] = await Promise.all([
    readOwned(installations, removals, maxRemoved),
    tokens.length === 0 ? [] : readActive(installations, { token: { $in: tokens } }),
  ]);
  const targets = new Map([
    ...Map.groupBy(owned.records, toOwnerKey),
    ...Map.groupBy(single, (record) => toOwnedTokenKey(record, record.user)),
  ]);
  return {
    unfinished: owned.unfinished,
    get(write) {
      if (write.kind === "remove") {
        const { token, user } = write;
        const key = token === undefined ? toOwnerKey(write) : toOwnedTokenKey({ ...write, token }, user);
        return targets.get(key) ?? [];
      }
      const { key, user, previousToken } = write;
      if (previousToken === undefined || previousToken === key.token) return [];
      return targets.get(toOwnedTokenKey({ ...key, token: previousToken }, user)) ?? [];
    },
  };
}

/** Reads the tokens of users who remove all of theirs, a bounded number of them. */
async function readOwned(
  installations: Installations,
  removals: readonly RemoveWrite[],
  maxRemoved: number,
): Promise<{ records: readonly ActiveRecord[]; unfinished: ReadonlySet<InstallationWrite> }> {
  if (removals.length === 0) return { records: [], unfinished: new Set() };
  const records = await readActive(
    installations,
    {
      application: { $in: removals.map(({ application }) => application) },
      platform: { $in: removals.map(({ platform }) => platform) },
      user: { $in: removals.map(({ user }) => user) },
    },
    maxRemoved + 1,
  );
  if (records.length <= maxRemoved) return { records, unfinished: new Set() };
  // One of them has very many. Each gets an equal share, so that nobody waits until that one is finished.
  const share = Math.ceil(maxRemoved / removals.length);
  const shares = await Promise.all(
    removals.map(({ application, platform, user }) =>
      readActive(installations, { application, platform, user }, share),
    ),
  );
  return {
    records: shares.flat(),
    unfinished: new Set(removals.filter((_, at) => shares[at]?.length === share)),
  };
}

function readActive(
  installations: Installations,
  filter: Filter<InstallationRecord>,
  limit?: number,
): Promise<ActiveRecord[]> {
  const projection = { token: 1, application: 1, platform: 1, user: 1, sys_updated_on: 1 } as const;
  return installations
    .find({ ...filter, active: true }, { projection, ...(limit === undefined ? {} : { limit }) })
    .toArray();
}

const toOwnerKey = ({
  application,
  platform,
  user,
}: Pick<InstallationRecord, "application" | "platform" | "user">): string =>
  JSON.stringify([application, platform, user]);

const toOwnedTokenKey = (key: InstallationKey, user: string): string =>
  JSON.stringify([toKeyText(key), user]);
