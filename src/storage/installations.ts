import type { Filter, MongoServerError } from "mongodb";

import { UnavailableError } from "../lib/errors.ts";
import { currentDate, sleep } from "../lib/platform.ts";
import { getUpdateTime } from "../lib/update-time.ts";
import { toKeyText, type InstallationKey } from "../installations/installation.ts";
import {
  unfinished,
  type InstallationStore,
  type InstallationWrite,
  type RegisterWrite,
  type RemoveWrite,
} from "../installations/stores.ts";
import { splitIntoChunks, type Database } from "./database.ts";
import { classify, translateErrors } from "./failures.ts";
import { toDeactivation, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";
import { updateAll, type UpdateStatement } from "./update-command.ts";

/** A write, with the token's stored record once a unique index rejected the write. */
interface Attempt {
  readonly index: number;
  readonly write: InstallationWrite;
  readonly stored?: Pick<InstallationRecord, "user" | "sys_updated_on">;
}

/** A record that another program wrote may have no time. */
type ActiveRecord = Pick<InstallationRecord, "_id" | keyof InstallationKey | "user"> &
  Partial<Pick<InstallationRecord, "sys_updated_on">>;

/** What the writes of a round deactivate. */
interface Targets {
  /** The active records that a write deactivates, as they were read. */
  readonly get: (write: InstallationWrite) => readonly ActiveRecord[];
  /** Removals that may have more. */
  readonly unfinished: ReadonlySet<InstallationWrite>;
}

/** Bounds the size of a record; the oldest are dropped. */
const maxPreviousOwners = 20;
/** The size and the time of a command are limited, and stores can be slow. */
const statementsPerCommand = 250;
/** Other instances may change the owner between two rounds, but not forever. */
const maxRounds = 10;
/** Added for each round from the third on. */
const backoffMs = 5;

/**
 * Writes registrations and removals to MongoDB. A user may have any number of tokens: `maxRemovedPerBatch` bounds how many the
 * removals of one batch read and deactivate.
 */
export function createInstallationStore(
  database: Database,
  newId: () => string,
  maxRemovedPerBatch = 250,
): InstallationStore {
  const installations = database.collection<InstallationRecord>(collections.installations);

  /**
   * Sends one bulk. A registration is an upsert of a record that already belongs to the caller or does not
   * exist. If the record belongs to another user or is newer, the unique index rejects the upsert, and the
   * record is read for the next round. Returns the attempts to repeat.
   */
  async function runRound(attempts: readonly Attempt[], failures: unknown[]): Promise<Attempt[]> {
    const primary = database.getPrimary();
    const targets = await readTargets(attempts.map(({ write }) => write));
    const now = currentDate();
    const statements: UpdateStatement[] = [];
    const attemptByStatement: Attempt[] = [];
    for (const attempt of attempts) {
      for (const statement of toStatements(attempt, { now, newId, targets })) {
        statements.push(statement);
        attemptByStatement.push(attempt);
      }
    }
    const retried = new Set<Attempt>();
    for (const [number, chunk] of splitIntoChunks(statements, statementsPerCommand).entries())
      for (const { index, error } of await updateAll(database, installations, chunk)) {
        const attempt = attemptByStatement[number * statementsPerCommand + index];
        if (attempt === undefined) continue;
        if (isRetryable(error)) retried.add(attempt);
        else failures[attempt.index] = translateErrors(error);
      }
    // An election may have lost what was read: a token that was inactive is active again, and was spared.
    if (primary !== database.getPrimary())
      for (const attempt of attempts) if (deactivates(attempt.write)) retried.add(attempt);
    for (const { index, write } of attempts)
      if (targets.unfinished.has(write)) failures[index] ??= unfinished;
    const remaining = [...retried].filter(({ index }) => failures[index] === undefined);
    return remaining.length === 0 ? [] : readStored(remaining);
  }

  /**
   * Reads what these writes deactivate. A statement that the store runs late, after it was repeated and
   * acknowledged, must not deactivate what was registered meanwhile.
   */
  async function readTargets(writes: readonly InstallationWrite[]): Promise<Targets> {
    const removals = writes
      .filter((write) => write.kind === "remove")
      .filter(({ token }) => token === undefined);
    const tokens = writes.flatMap((write) => {
      const token = write.kind === "remove" ? write.token : write.previousToken;
      return token ?? [];
    });
    const [owned, single] = await Promise.all([
      readOwned(removals),
      tokens.length === 0 ? [] : readActive({ token: { $in: tokens } }),
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
    removals: readonly RemoveWrite[],
  ): Promise<{ records: readonly ActiveRecord[]; unfinished: ReadonlySet<InstallationWrite> }> {
    if (removals.length === 0) return { records: [], unfinished: new Set() };
    const records = await readActive(
      {
        application: { $in: removals.map(({ application }) => application) },
        platform: { $in: removals.map(({ platform }) => platform) },
        user: { $in: removals.map(({ user }) => user) },
      },
      maxRemovedPerBatch + 1,
    );
    if (records.length <= maxRemovedPerBatch) return { records, unfinished: new Set() };
    // One of them has very many. Each gets an equal share, so that nobody waits until that one is finished.
    const share = Math.ceil(maxRemovedPerBatch / removals.length);
    const shares = await Promise.all(
      removals.map(({ application, platform, user }) => readActive({ application, platform, user }, share)),
    );
    return {
      records: shares.flat(),
      unfinished: new Set(removals.filter((_, at) => shares[at]?.length === share)),
    };
  }

  function readActive(filter: Filter<InstallationRecord>, limit?: number): Promise<ActiveRecord[]> {
    const projection = { token: 1, application: 1, platform: 1, user: 1, sys_updated_on: 1 } as const;
    return installations
      .find({ ...filter, active: true }, { projection, ...(limit === undefined ? {} : { limit }) })
      .toArray();
  }

  async function readStored(attempts: readonly Attempt[]): Promise<Attempt[]> {
    const tokens = attempts.flatMap(({ write }) => (write.kind === "register" ? [write.key.token] : []));
    const projection = {
      _id: 0,
      token: 1,
      application: 1,
      platform: 1,
      user: 1,
      sys_updated_on: 1,
    } as const;
    const records = await installations.find({ token: { $in: tokens } }, { projection }).toArray();
    const byKey = new Map(records.map((record) => [toKeyText(record), record]));
    return attempts.map(({ index, write }) => {
      const stored = write.kind === "register" ? byKey.get(toKeyText(write.key)) : undefined;
      return { index, write, ...(stored === undefined ? {} : { stored }) };
    });
  }

  return {
    write: (writes) =>
      database.run(async () => {
        const failures: unknown[] = [];
        const first = findFirstOfEqualRemovals(writes);
        let attempts: readonly Attempt[] = writes
          .map((write, index) => ({ index, write }))
          .filter(({ index }) => !first.has(index));
        for (let round = 0; attempts.length > 0 && round < maxRounds; round += 1) {
          if (round > 1) await sleep(round * backoffMs);
          attempts = await runRound(attempts, failures);
        }
        for (const { index } of attempts)
          failures[index] = new UnavailableError("too many concurrent changes of the same token");
        for (const [index, same] of first) if (failures[same] !== undefined) failures[index] = failures[same];
        return failures;
      }),
  };
}

/** Returns the index of an equal earlier removal, by index: they are one, so that their statements are not multiplied. */
function findFirstOfEqualRemovals(writes: readonly InstallationWrite[]): ReadonlyMap<number, number> {
  const indexes = new Map<string, number>();
  const first = new Map<number, number>();
  for (const [index, write] of writes.entries()) {
    if (write.kind !== "remove") continue;
    const { application, platform, user, token } = write;
    const key = JSON.stringify([application, platform, user, token]);
    const same = indexes.get(key);
    if (same === undefined) indexes.set(key, index);
    else first.set(index, same);
  }
  return first;
}

const deactivates = (write: InstallationWrite): boolean =>
  write.kind === "remove" || write.previousToken !== undefined;

/** The record is another user's, or a transaction holds it. A retry gets a new `_id`. */
const isRetryable = (error: MongoServerError): boolean => ["duplicate", "conflict"].includes(classify(error));

interface StatementContext {
  readonly now: Date;
  readonly newId: () => string;
  readonly targets: Targets;
}

function toStatements(
  { write, stored }: Attempt,
  { now, newId, targets: { get: getTargets } }: StatementContext,
): UpdateStatement[] {
  const targets = getTargets(write);
  if (write.kind === "remove")
    return targets.length === 0 ? [confirmation] : toRemovals(targets, write.reason, now);
  return [
    toRegistration(write, { stored, now, id: newId() }),
    ...toRemovals(targets, "replaced by a new token", now),
  ];
}

const toOwnerKey = ({
  application,
  platform,
  user,
}: Pick<InstallationRecord, "application" | "platform" | "user">): string =>
  JSON.stringify([application, platform, user]);

const toOwnedTokenKey = (key: InstallationKey, user: string): string =>
  JSON.stringify([toKeyText(key), user]);

/**
 * A statement that the store runs late, after it was repeated and acknowledged, must not undo a removal that
 * came meanwhile, nor another user's registration. So it matches only records that are older than itself; if
 * there is a newer one, the unique index rejects the upsert. A record without a time, written by another
 * program, matches.
 */
function toRegistration(
  { key: { token, application, platform }, user }: RegisterWrite,
  { stored, now, id }: { readonly stored: Attempt["stored"]; readonly now: Date; readonly id: string },
): UpdateStatement {
  const owner = stored?.user ?? user;
  const updatedOn = getUpdateTime(now, stored?.sys_updated_on);
  const seen = { active: true, sys_updated_on: updatedOn, last_seen_on: now };
  const update = {
    $unset: { deactivated_on: "", deactivated_reason: "" } as const,
    $setOnInsert: { _id: id, sys_created_on: now },
  };
  const moved = { $each: [{ user: owner, until: now }], $slice: -maxPreviousOwners };
  return {
    q: { token, application, platform, user: owner, sys_updated_on: { $not: { $gte: updatedOn } } },
    u:
      owner === user
        ? { $set: seen, ...update }
        : { $set: { ...seen, user }, ...update, $push: { previous_owners: moved } },
    upsert: true,
  };
}

/** Deactivates records that are still as they were read. */
const toRemovals = (records: readonly ActiveRecord[], reason: string, now: Date): UpdateStatement[] =>
  records.map(({ _id, token, sys_updated_on = null }) => ({
    q: { _id, token, active: true, sys_updated_on },
    u: toDeactivation(reason, now),
  }));

/**
 * Changes nothing. Its acknowledgement says that a majority has what was read: the user has no active token. As in
 * `Database.confirmReads`, every shard gets it.
 */
const confirmation: UpdateStatement = {
  q: { _id: "" },
  u: { $set: { active: false } },
  multi: true,
};
