import type { MongoServerError } from "mongodb";

import { UnavailableError } from "../lib/errors.ts";
import { currentDate, sleep } from "../lib/platform.ts";
import { toKeyText } from "../installations/installation.ts";
import type {
  InstallationStore,
  InstallationWrite,
  RegisterWrite,
  RemoveWrite,
} from "../installations/stores.ts";
import type { Database } from "./database.ts";
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

/** Bounds the size of a record; the oldest are dropped. */
const maxPreviousOwners = 20;
/** Other instances may change the owner between two rounds, but not forever. */
const maxRounds = 10;
/** Added for each round from the third on. */
const backoffMs = 5;

/** Writes registrations and removals to MongoDB. */
export function createInstallationStore(database: Database, newId: () => string): InstallationStore {
  const installations = database.collection<InstallationRecord>(collections.installations);

  /**
   * Sends one bulk. A registration is an upsert of a record that already belongs to the caller or does not
   * exist. If the record belongs to another user or is newer, the unique index rejects the upsert, and the
   * record is read for the next round. Returns the attempts to repeat.
   */
  async function runRound(attempts: readonly Attempt[], failures: unknown[]): Promise<Attempt[]> {
    const now = currentDate();
    const statements: UpdateStatement[] = [];
    const attemptByStatement: Attempt[] = [];
    for (const attempt of attempts) {
      for (const statement of toStatements(attempt, now, newId)) {
        statements.push(statement);
        attemptByStatement.push(attempt);
      }
    }
    const retried = new Set<Attempt>();
    for (const { index, error } of await updateAll(database, installations, statements)) {
      const attempt = attemptByStatement[index];
      if (attempt === undefined) continue;
      if (isRetryable(error)) retried.add(attempt);
      else failures[attempt.index] = translateErrors(error);
    }
    const remaining = [...retried].filter(({ index }) => failures[index] === undefined);
    return remaining.length === 0 ? [] : readStored(remaining);
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
        let attempts: readonly Attempt[] = writes.map((write, index) => ({ index, write }));
        for (let round = 0; attempts.length > 0 && round < maxRounds; round += 1) {
          if (round > 1) await sleep(round * backoffMs);
          attempts = await runRound(attempts, failures);
        }
        for (const { index } of attempts)
          failures[index] = new UnavailableError("too many concurrent changes of the same token");
        return failures;
      }),
  };
}

/** The record is another user's, or a transaction holds it. A retry gets a new `_id`. */
const isRetryable = (error: MongoServerError): boolean => ["duplicate", "conflict"].includes(classify(error));

const toStatements = ({ write, stored }: Attempt, now: Date, newId: () => string): UpdateStatement[] =>
  write.kind === "remove"
    ? [toRemoval(write, now)]
    : [toRegistration(write, { stored, now, id: newId() }), ...toReplacement(write, now)];

/**
 * A statement that the store runs late, after it was repeated and acknowledged, must not undo a removal that
 * came meanwhile. So it matches no record that is newer than itself; if there is one, the unique index
 * rejects the upsert. A record without a time, written by another program, matches.
 */
function toRegistration(
  { key: { token, application, platform }, user }: RegisterWrite,
  { stored, now, id }: { readonly stored: Attempt["stored"]; readonly now: Date; readonly id: string },
): UpdateStatement {
  const owner = stored?.user ?? user;
  // Another instance's clock may be ahead.
  const updatedOn = stored !== undefined && stored.sys_updated_on > now ? stored.sys_updated_on : now;
  const seen = { active: true, sys_updated_on: updatedOn, last_seen_on: now };
  const update = {
    $unset: { deactivated_on: "", deactivated_reason: "" } as const,
    $setOnInsert: { _id: id, sys_created_on: now },
  };
  const moved = { $each: [{ user: owner, until: now }], $slice: -maxPreviousOwners };
  return {
    q: { token, application, platform, user: owner, sys_updated_on: { $not: { $gt: updatedOn } } },
    u:
      owner === user
        ? { $set: seen, ...update }
        : { $set: { ...seen, user }, ...update, $push: { previous_owners: moved } },
    upsert: true,
  };
}

/** Deactivates the token that a registration replaces, unless it belongs to another user. */
function toReplacement({ key, user, previousToken }: RegisterWrite, now: Date): UpdateStatement[] {
  if (previousToken === undefined || previousToken === key.token) return [];
  const q = { ...key, token: previousToken, user, active: true };
  return [{ q, u: toDeactivation("replaced by a new token", now) }];
}

const toRemoval = ({ application, platform, user, reason }: RemoveWrite, now: Date): UpdateStatement => ({
  q: { application, platform, user, active: true },
  u: toDeactivation(reason, now),
  multi: true,
});
