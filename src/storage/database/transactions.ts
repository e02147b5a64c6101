import type { Binary, ClientSession, Db, MongoClient } from "mongodb";

import { ConfigurationError, getErrorMessage, TransactionConflictError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { elapsed, random, sleep } from "@topicsync/lib/platform";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import { classify, commit } from "./failures.ts";
import { collections } from "../names.ts";

const maxConflictRetriesMs = 5_000;
/** The random pauses between attempts grow as those of the driver's `withTransaction`. */
const firstConflictPauseMs = 5;
const conflictPauseGrowth = 1.5;
const maxConflictPauseMs = 500;

/**
 * Counts the attempts of one transaction. The function that it returns waits, and says whether the
 * transaction can be repeated after an error: only after a conflict with another one, and for up to 5
 * seconds.
 */
export function createConflictRetry(): (error: unknown) => Promise<boolean> {
  const deadline = elapsed() + maxConflictRetriesMs;
  let longestPauseMs = firstConflictPauseMs;
  return async (error) => {
    if (!(error instanceof TransactionConflictError)) return false;
    longestPauseMs = Math.min(longestPauseMs * conflictPauseGrowth, maxConflictPauseMs);
    const pauseMs = random() * longestPauseMs;
    if (elapsed() + pauseMs > deadline) return false;
    await sleep(pauseMs);
    return true;
  };
}

/**
 * Tries a transaction, since what servers report of themselves differs between products. Throws
 * ConfigurationError for an unknown error: the sync is less safe without transactions, so their absence
 * must be certain.
 */
export async function hasTransactions(client: MongoClient, log: Logger): Promise<boolean> {
  const session = client.startSession();
  try {
    session.startTransaction();
    await client.db().collection(collections.positions).findOne({}, { session });
    // `withTransaction` would repeat a commit without a majority for two minutes.
    await session.commitTransaction();
    return true;
  } catch (error) {
    const kind = classify(error);
    if (kind === "unsupported") {
      log.warn(
        { reason: getErrorMessage(error) },
        "this MongoDB has no transactions, so positions are written after the records instead of with them: use a replica set",
      );
      return false;
    }
    if (kind !== "unforeseen") throw error;
    throw new ConfigurationError(
      `MongoDB failed to run a transaction, for an unknown reason: ${getErrorMessage(error)}`,
      { cause: error },
    );
  } finally {
    await session.endSession();
  }
}

/** On a sharded cluster killSessions waits up to a minute for every member that does not respond. */
const killTimeoutMs = 3_000;

/** See Database. */
type KillSessions = (ids: readonly Binary[]) => Promise<void>;

export function createKillSessions(getDb: () => Db, log: Logger): KillSessions {
  let hasFailed = false;
  return async (ids) => {
    const kill = getDb()
      .admin()
      .command({ killSessions: ids.map((id) => ({ id })) });
    try {
      await withTimeout(killTimeoutMs, kill);
      hasFailed = false;
    } catch (error) {
      if (!hasFailed)
        log.warn(
          { reason: getErrorMessage(error) },
          "killSessions failed: open transactions of earlier partition owners last until MongoDB aborts them, a minute by default",
        );
      hasFailed = true;
    }
  };
}

/** Runs operations in one transaction of a session, which ends with it. See `Database.runTransaction`. */
export async function runInSession(
  database: { runTransaction(session: ClientSession, work: () => Promise<void>): Promise<void> },
  session: ClientSession,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await database.runTransaction(session, work);
  } finally {
    await session.endSession();
  }
}

/** Runs a transaction, again after each conflict. */
export async function repeatAfterConflicts(attempt: () => Promise<void>): Promise<void> {
  const canRetry = createConflictRetry();
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!(await canRetry(error))) throw error;
    }
  }
}

/** Runs operations in a transaction. Nothing is stored when `work` throws. */
export async function runOnce(
  session: ClientSession,
  work: () => Promise<void>,
  killSessions: KillSessions,
): Promise<void> {
  session.startTransaction();
  try {
    await work();
    await commit(session).catch(async (error: unknown) => {
      // If the commit never arrived, the transaction would hold its records until MongoDB aborts it.
      const id = session.id?.id;
      if (id !== undefined && classify(error) === "outage") await killSessions([id]);
      throw error;
    });
  } catch (error) {
    if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
    throw error;
  }
}
