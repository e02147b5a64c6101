import { setTimeout as sleep } from "node:timers/promises";

import type { MongoServerError } from "mongodb";

import { UnavailableError } from "../lib/errors.ts";
import type {
  InstallationKey,
  InstallationStore,
  InstallationWrite,
  RegisterWrite,
  RemoveWrite,
} from "../installations/stores.ts";
import type { Database } from "./database.ts";
import { classify, translateErrors } from "./failures.ts";
import { deactivation, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";
import { updateAll, type UpdateStatement } from "./update-command.ts";

/** A write under way, with what was found in the token's record when a unique index objected. */
interface Attempt {
  readonly index: number;
  readonly write: InstallationWrite;
  readonly found?: Pick<InstallationRecord, "user" | "sys_updated_on">;
}

/** Owners beyond these are forgotten, the oldest first: a record must not grow without end. */
const maxOwnersKept = 20;
/** Another instance can change the owner in between, but not for long. */
const maxRounds = 10;
/** From the third round on, it is waited this much longer each time. */
const waitMs = 5;

/** The store of installations in MongoDB. */
export function createInstallationStore(database: Database, newId: () => string): InstallationStore {
  const installations = database.collection<InstallationRecord>(collections.installations);

  /**
   * One bulk for all. A registration is an upsert of the record that is the caller's already, or not there at all; where
   * the record is another's, or newer, the unique index objects, and the record is looked up for the next round. Gives what is
   * to be tried again.
   */
  async function round(attempts: readonly Attempt[], failures: unknown[]): Promise<Attempt[]> {
    const now = new Date();
    const operations: UpdateStatement[] = [];
    /** The attempt of each operation. */
    const attemptOf: Attempt[] = [];
    for (const attempt of attempts) {
      for (const operation of operationsOf(attempt, now, newId)) {
        operations.push(operation);
        attemptOf.push(attempt);
      }
    }
    const again = new Set<Attempt>();
    for (const { index, error } of await updateAll(database, installations, operations)) {
      const attempt = attemptOf[index];
      if (attempt === undefined) continue;
      if (mayBeRepeated(error)) again.add(attempt);
      else failures[attempt.index] = translateErrors(error);
    }
    const left = [...again].filter(({ index }) => failures[index] === undefined);
    return left.length === 0 ? [] : lookUp(left);
  }

  async function lookUp(attempts: readonly Attempt[]): Promise<Attempt[]> {
    const tokens = attempts.flatMap(({ write }) => (write.kind === "register" ? [write.key.token] : []));
    const projection = {
      ...{ _id: 0, token: 1, application: 1, platform: 1 },
      ...{ user: 1, sys_updated_on: 1 },
    } as const;
    const records = await installations.find({ token: { $in: tokens } }, { projection }).toArray();
    const byName = new Map(records.map((record) => [nameOf(record), record]));
    return attempts.map(({ index, write }) => {
      const found = write.kind === "register" ? byName.get(nameOf(write.key)) : undefined;
      return { index, write, ...(found === undefined ? {} : { found }) };
    });
  }

  return {
    write: (writes) =>
      database.run(async () => {
        const failures: unknown[] = [];
        let attempts: readonly Attempt[] = writes.map((write, index) => ({ index, write }));
        for (let rounds = 0; attempts.length > 0 && rounds < maxRounds; rounds += 1) {
          if (rounds > 1) await sleep(rounds * waitMs);
          attempts = await round(attempts, failures);
        }
        for (const { index } of attempts)
          failures[index] = new UnavailableError("others change the same token all the time");
        return failures;
      }),
  };
}

/** A duplicate key: the record is another user's. Or a conflict with a transaction. A repetition gets a new `_id`. */
const mayBeRepeated = (error: MongoServerError): boolean =>
  ["duplicate", "conflict"].includes(classify(error));

const operationsOf = ({ write, found }: Attempt, now: Date, newId: () => string): UpdateStatement[] =>
  write.kind === "remove"
    ? [removal(write, now)]
    : [registration(write, { found, now, id: newId() }), ...replacement(write, now)];

/**
 * A statement that the store carries out late, after it was repeated and acknowledged, must not undo a removal that came
 * meanwhile. So it matches no record that is newer than itself, and where one is, the unique index objects. One without a time,
 * which something else has stored, is no newer.
 */
function registration(
  { key: { token, application, platform }, user }: RegisterWrite,
  { found, now, id }: { readonly found: Attempt["found"]; readonly now: Date; readonly id: string },
): UpdateStatement {
  const owner = found?.user ?? user;
  // Another instance's clock may be ahead.
  const on = found !== undefined && found.sys_updated_on > now ? found.sys_updated_on : now;
  const seen = { active: true, sys_updated_on: on, last_seen_on: now };
  const update = {
    $unset: { deactivated_on: "", deactivated_reason: "" } as const,
    $setOnInsert: { _id: id, sys_created_on: now },
  };
  const moved = { $each: [{ user: owner, until: now }], $slice: -maxOwnersKept };
  return {
    q: { token, application, platform, user: owner, sys_updated_on: { $not: { $gt: on } } },
    u:
      owner === user
        ? { $set: seen, ...update }
        : { $set: { ...seen, user }, ...update, $push: { previous_owners: moved } },
    upsert: true,
  };
}

/** The token that a registration replaces; another's is not touched. */
function replacement({ key, user, previousToken }: RegisterWrite, now: Date): UpdateStatement[] {
  if (previousToken === undefined || previousToken === key.token) return [];
  const q = { ...key, token: previousToken, user, active: true };
  return [{ q, u: deactivation("replaced by a new token", now) }];
}

const removal = ({ application, platform, user, reason }: RemoveWrite, now: Date): UpdateStatement => ({
  q: { application, platform, user, active: true },
  u: deactivation(reason, now),
  multi: true,
});

const nameOf = ({ token, application, platform }: InstallationKey): string =>
  JSON.stringify([token, application, platform]);
