import { maxUpdateMs, updateLimit } from "./database/client-options.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";

/** Remembers when jobs are due, for all instances. Every function throws UnavailableError. */
export interface JobStore {
  /** Whether a job was due: then it is for the caller to run, and due again at `nextOn`. */
  claim(name: string, now: Date, nextOn: Date): Promise<boolean>;
  /** Sets when a job is due again. */
  postpone(name: string, nextOn: Date): Promise<void>;
}

export interface JobRecord {
  _id: string;
  next_on: Date;
}

/**
 * Remembers in MongoDB when jobs are due, so that one of several instances runs each. Every function throws
 * UnavailableError.
 */
export function createJobStore(database: Database) {
  const jobs = database.collection<JobRecord>(collections.jobs);
  return runEach(database, {
    /** Whether a job was due: then it is for the caller to run, and due again at `nextOn`. */
    async claim(name: string, now: Date, nextOn: Date): Promise<boolean> {
      const isDue = { _id: name, next_on: { $lte: now } };
      const update = { $set: { next_on: nextOn } };
      try {
        const { matchedCount, upsertedCount } = await jobs.updateOne(isDue, update, {
          upsert: true,
          maxTimeMS: maxUpdateMs,
        });
        return matchedCount + upsertedCount > 0;
      } catch (error) {
        // There is a record, which is not due: another instance has claimed the job.
        if (isDuplicate(error)) return false;
        throw error;
      }
    },
    /** Sets when a job is due again. */
    async postpone(name: string, nextOn: Date): Promise<void> {
      await jobs.updateOne({ _id: name }, { $set: { next_on: nextOn } }, updateLimit);
    },
  });
}
