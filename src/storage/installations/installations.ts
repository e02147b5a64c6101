import type { Collection, MongoServerError } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";
import { currentDate, sleep } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import { getUpdateTime } from "@topicsync/lib/time";
import { compareTexts } from "@topicsync/filters";
import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { toKeyText } from "../../installations/installation.ts";
import {
  unfinished,
  type InstallationStore,
  type InstallationWrite,
  type RegisterWrite,
} from "../../installations/stores.ts";
import type { Database } from "../database/database.ts";
import { classify, translateErrors } from "../database/failures.ts";
import { toDeactivation, type InstallationRecord } from "./records.ts";
import { deactivates, readTargets, type ActiveRecord, type Targets } from "./targets.ts";
import { collections } from "../names.ts";
import { updateAll, type UpdateStatement } from "../update-command.ts";

/** A write, with the token's stored record once a unique index rejected the write. */
interface Attempt {
  readonly index: number;
  readonly write: InstallationWrite;
  readonly stored?: Pick<InstallationRecord, "user" | "sys_updated_on">;
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
 * Writes registrations and removals to MongoDB. A user may have any number of tokens: `maxRemovedPerBatch`
 * bounds how many the removals of one batch read and deactivate.
 */
export function createInstallationStore(database: Database, maxRemovedPerBatch = 250): InstallationStore {
  const installations = database.collection<InstallationRecord>(collections.installations);
  const context: RoundContext = { database, installations, maxRemovedPerBatch };
  return {
    write: (writes) =>
      database.run(async () => {
        await database.ensureIndexes(collections.installations);
        const failures: unknown[] = [];
        const first = findFirstOfEqualRemovals(writes);
        let attempts: readonly Attempt[] = writes
          .map((write, index) => ({ index, write }))
          .filter(({ index }) => !first.has(index));
        for (let round = 0; attempts.length > 0 && round < maxRounds; round += 1) {
          if (round > 1) await sleep(round * backoffMs);
          attempts = await runRound(context, attempts, failures);
        }
        for (const { index } of attempts)
          failures[index] = new UnavailableError("too many concurrent changes of the same token");
        for (const [index, same] of first) if (failures[same] !== undefined) failures[index] = failures[same];
        return failures;
      }),
  };
}

interface RoundContext {
  readonly database: Database;
  readonly installations: Collection<InstallationRecord>;
  readonly maxRemovedPerBatch: number;
}

/**
 * Sends one bulk. A registration is an upsert of a record that already belongs to the caller or does not
 * exist. If the record belongs to another user or is newer, the unique index rejects the upsert, and the
 * record is read for the next round. Returns the attempts to repeat.
 */
async function runRound(
  context: RoundContext,
  attempts: readonly Attempt[],
  failures: unknown[],
): Promise<Attempt[]> {
  const { database, installations, maxRemovedPerBatch } = context;
  const primary = database.getPrimary();
  const targets = await readTargets(
    installations,
    attempts.map(({ write }) => write),
    maxRemovedPerBatch,
  );
  const now = currentDate();
  // In one order everywhere: in some products, a command holds its records until it ends.
  const all = attempts
    .flatMap((attempt) =>
      toStatements(attempt, { now, targets }).map((statement) => ({ attempt, statement })),
    )
    .toSorted((a, b) => compareTexts(getToken(a.statement), getToken(b.statement)));
  const retried = new Set<Attempt>();
  for (const chunk of splitIntoBatches(all, statementsPerCommand)) {
    const statements = chunk.map(({ statement }) => statement);
    for (const { index, error } of await updateAll(database, installations, statements)) {
      const attempt = chunk[index]?.attempt;
      if (attempt === undefined) continue;
      if (isRetryable(error)) retried.add(attempt);
      else failures[attempt.index] = translateErrors(error);
    }
  }
  // The read may have been rolled back: a token we skipped as inactive may be active again.
  if (primary !== database.getPrimary())
    for (const attempt of attempts) if (deactivates(attempt.write)) retried.add(attempt);
  for (const { index, write } of attempts) if (targets.unfinished.has(write)) failures[index] ??= unfinished;
  const remaining = [...retried].filter(({ index }) => failures[index] === undefined);
  return remaining.length === 0 ? [] : readStored(installations, remaining);
}

/** Only `confirmation` has none. */
const getToken = ({ q }: UpdateStatement): string => String(q["token"] ?? "");

async function readStored(
  installations: Collection<InstallationRecord>,
  attempts: readonly Attempt[],
): Promise<Attempt[]> {
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

/**
 * Returns the index of an equal earlier removal, by index: they are one, so that their statements are not
 * multiplied.
 */
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

/** The record is another user's, or a transaction holds it. A retry gets a new `_id`. */
const isRetryable = (error: MongoServerError): boolean => ["duplicate", "conflict"].includes(classify(error));

interface StatementContext {
  readonly now: Date;
  readonly targets: Targets;
}

function toStatements(
  { write, stored }: Attempt,
  { now, targets: { get: getTargets } }: StatementContext,
): UpdateStatement[] {
  const targets = getTargets(write);
  if (write.kind === "remove")
    return targets.length === 0 ? [confirmation] : toRemovals(targets, write.reason, now);
  return [
    toRegistration(write, { stored, now, id: newId() }),
    ...toRemovals(targets, "replaced by a new token", now),
  ];
}

/**
 * A statement that the store runs late, after it was repeated and acknowledged, must not undo a removal that
 * came in between, nor another user's registration. So it matches only records that are older than itself; if
 * there is a newer one, the unique index rejects the upsert. A record without a time, written by another
 * program, matches.
 */
function toRegistration(
  { key: { token, application, platform }, user, attributes }: RegisterWrite,
  { stored, now, id }: { readonly stored: Attempt["stored"]; readonly now: Date; readonly id: string },
): UpdateStatement {
  const owner = stored?.user ?? user;
  const updatedOn = getUpdateTime(now, stored?.sys_updated_on);
  const hasAttributes = attributes !== undefined && Object.keys(attributes).length > 0;
  const times = { active: true, sys_updated_on: updatedOn, last_seen_on: now };
  const seen = hasAttributes ? { ...times, attributes } : times;
  // They may say something about the user, so they do not move to another one.
  const keepsAttributes = hasAttributes || (attributes === undefined && owner === user);
  const update = {
    $unset: keepsAttributes ? deactivation : { ...deactivation, attributes: "" },
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

/** The fields that a registration removes. */
const deactivation = { deactivated_on: "", deactivated_reason: "" } as const;

/** Deactivates records that are still as they were read. */
const toRemovals = (records: readonly ActiveRecord[], reason: string, now: Date): UpdateStatement[] =>
  records.map(({ _id, token, sys_updated_on = null }) => ({
    q: { _id, token, active: true, sys_updated_on },
    u: toDeactivation(reason, now),
  }));

/**
 * Changes nothing. Its acknowledgement says that a majority has what was read: the user has no active token.
 * As in `Database.confirmReads`, every shard gets it.
 */
const confirmation: UpdateStatement = {
  q: { _id: "" },
  u: { $set: { active: false } },
  multi: true,
};
