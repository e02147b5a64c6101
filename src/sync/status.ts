import type { SyncStatus } from "../../schemas/sync-status.ts";
import { getErrorMessage } from "../lib/errors.ts";
import { withTimeout } from "../lib/timeout.ts";
import { readPartitionStatuses, type Ask, type WatchedLog } from "./partition-status.ts";
import type { FeedbackTally, Tally } from "./tally.ts";

export interface StatusOptions {
  readonly announcements: WatchedLog;
  /** Undefined when no push feedback is read. */
  readonly pushFeedback: WatchedLog | undefined;
  /** What this process counted; undefined where no consumer runs. */
  readonly tally: Pick<Tally, "since" | "getCounts"> | undefined;
  readonly feedbackTally: Pick<FeedbackTally, "getCounts"> | undefined;
}

/** Reads the status of the sync. Never throws: unknown values are null, and `problems` has the reasons. */
export type GetStatus = () => Promise<SyncStatus>;

/** The limit of each query to the broker or the store. */
const queryTimeoutMs = 3_000;

export function createStatus({
  announcements,
  pushFeedback,
  tally,
  feedbackTally,
}: StatusOptions): GetStatus {
  return async () => {
    const problems = new Set<string>();
    const ask: Ask = async (what, query) =>
      withTimeout(queryTimeoutMs, query).catch((error: unknown) => {
        problems.add(`${what}: ${getErrorMessage(error)}`);
        return undefined;
      });
    const [synced, feedback] = await Promise.all([
      readPartitionStatuses(announcements, ask),
      pushFeedback === undefined
        ? null
        : readPartitionStatuses(pushFeedback, (what, query) => ask(`${what} of the push feedback`, query)),
    ]);
    return {
      ...synced,
      since: tally?.since.toISOString() ?? null,
      counts: tally?.getCounts() ?? null,
      pushFeedback: feedback && { ...feedback, counts: feedbackTally?.getCounts() ?? null },
      problems: [...problems],
    };
  };
}
