import { setTimeout as sleep } from "node:timers/promises";

import type { MongoServerError } from "mongodb";

import { Unavailable } from "../errors.ts";
import type {
  InstallationKey,
  InstallationStore,
  InstallationWrite,
  RegisterWrite,
  RemoveWrite,
} from "../installations/ports.ts";
import type { Database } from "./database.ts";
import { classify, translated } from "./failures.ts";
import { deactivation, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";
import { updateAll, type UpdateStatement } from "./update-command.ts";

/** A write under way, with the owner that the token's record is believed to have. */
interface Attempt {
  readonly index: number;
  readonly write: InstallationWrite;
  readonly owner?: string;
}

/** Owners beyond these are forgotten, the oldest first: a record must not grow without end. */
const mostOwnersKept = 20;
/** Another instance can change the owner in between, but not for long. */
const mostRounds = 10;
/** From the third round on, it is waited this much longer each time. */
const waitMs = 5;

/** The store of installations in MongoDB. */
export function createInstallationStore(database: Database, newId: () => string): InstallationStore {
  const installations = database.collection<InstallationRecord>(collections.installations);

  /**
   * One bulk for all. A registration is an upsert of the record that is the caller's already, or not there at all; where
   * the record is another's, the unique index objects, and the owner is looked up for the next round. Gives what is to be
   * tried again.
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
      else failures[attempt.index] = translated(error);
    }
    const left = [...again].filter(({ index }) => failures[index] === undefined);
    return left.length === 0 ? [] : withOwners(left);
  }

  async function withOwners(attempts: readonly Attempt[]): Promise<Attempt[]> {
    const tokens = attempts.flatMap(({ write }) => (write.kind === "register" ? [write.key.token] : []));
    const projection = { _id: 0, token: 1, application: 1, platform: 1, user: 1 } as const;
    const records = await installations.find({ token: { $in: tokens } }, { projection }).toArray();
    const owners = new Map(records.map((record) => [nameOf(record), record.user]));
    return attempts.map(({ index, write }) => {
      const owner = write.kind === "register" ? owners.get(nameOf(write.key)) : undefined;
      return { index, write, ...(owner === undefined ? {} : { owner }) };
    });
  }

  return {
    write: (writes) =>
      database.run(async () => {
        const failures: unknown[] = [];
        let attempts: readonly Attempt[] = writes.map((write, index) => ({ index, write }));
        for (let rounds = 0; attempts.length > 0 && rounds < mostRounds; rounds += 1) {
          if (rounds > 1) await sleep(rounds * waitMs);
          attempts = await round(attempts, failures);
        }
        for (const { index } of attempts)
          failures[index] = new Unavailable("others change the same token all the time");
        return failures;
      }),
  };
}

/** A duplicate key: the record is another user's. Or a conflict with a transaction. A repetition gets a new `_id`. */
const mayBeRepeated = (error: MongoServerError): boolean =>
  ["duplicate", "conflict"].includes(classify(error));

const operationsOf = ({ write, owner }: Attempt, now: Date, newId: () => string): UpdateStatement[] =>
  write.kind === "remove"
    ? [removal(write, now)]
    : [registration(write, { owner: owner ?? write.user, now, id: newId() }), ...replacement(write, now)];

function registration(
  { key: { token, application, platform }, user }: RegisterWrite,
  { owner, now, id }: { readonly owner: string; readonly now: Date; readonly id: string },
): UpdateStatement {
  const seen = { active: true, sys_updated_on: now, last_seen_on: now };
  const update = {
    $unset: { deactivated_on: "", deactivated_reason: "" } as const,
    $setOnInsert: { _id: id, sys_created_on: now },
  };
  const moved = { $each: [{ user: owner, until: now }], $slice: -mostOwnersKept };
  return {
    q: { token, application, platform, user: owner },
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
