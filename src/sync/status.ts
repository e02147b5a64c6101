import type { SyncStatus } from "../../schemas/sync-status.ts";
import { getErrorMessage } from "../lib/errors.ts";
import { withTimeout } from "../lib/timeout.ts";
import { readPartitionStatuses, type ReadPartitionStatuses, type WatchedLog } from "./partition-status.ts";
import type { FeedbackTally, Tally } from "./tally.ts";

export interface StatusOptions {
  readonly announcements: WatchedLog;
  /** Undefined when no push feedback is read. */
  readonly pushFeedback: WatchedLog | undefined;
  /** What this process counted; undefined where no consumer runs. */
  readonly tally: Pick<Tally, "since" | "counts"> | undefined;
  readonly feedbackTally: Pick<FeedbackTally, "counts"> | undefined;
}

/** Tells where the sync stands. Never throws: what cannot be found out is null, with the reason among the problems. */
export type GetStatus = () => Promise<SyncStatus>;

/** Each question to the broker or the store waits no longer than this. */
const patienceMs = 3_000;

/** Makes the function that tells where the sync stands. */
export function createStatus({
  announcements,
  pushFeedback,
  tally,
  feedbackTally,
}: StatusOptions): GetStatus {
  return async () => {
    const problems = new Set<string>();
    const ask: ReadPartitionStatuses = async (what, question) =>
      withTimeout(patienceMs, question).catch((error: unknown) => {
        problems.add(`${what}: ${getErrorMessage(error)}`);
        return undefined;
      });
    const [synced, feedback] = await Promise.all([
      readPartitionStatuses(announcements, ask),
      pushFeedback === undefined
        ? null
        : readPartitionStatuses(pushFeedback, (what, question) =>
            ask(`${what} of the push feedback`, question),
          ),
    ]);
    return {
      ...synced,
      since: tally?.since.toISOString() ?? null,
      counts: tally?.counts() ?? null,
      pushFeedback: feedback && { ...feedback, counts: feedbackTally?.counts() ?? null },
      problems: [...problems],
    };
  };
}
