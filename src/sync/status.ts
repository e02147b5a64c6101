import type { SyncStatus } from "../../schemas/sync-status.ts";
import { getErrorMessage } from "../lib/errors.ts";
import { withTimeout } from "../lib/timeout.ts";
import { readPartitionStatuses, type Ask, type WatchedLog } from "./partition-status.ts";
import type { IndexStatus } from "../matching/topic-index.ts";
import type { RouterTally } from "../routing/tally.ts";
import type { AnnouncementTally, FeedbackTally } from "./tally.ts";

interface StatusOptions {
  readonly announcements: WatchedLog;
  /** Undefined when no push feedback is read. */
  readonly pushFeedback: WatchedLog | undefined;
  /** What this process counted; undefined where no consumer runs. */
  readonly tally: Pick<AnnouncementTally, "since" | "getCounts"> | undefined;
  readonly feedbackTally: Pick<FeedbackTally, "getCounts"> | undefined;
  /** Undefined when no events are forwarded. */
  readonly router: WatchedRouter | undefined;
  /** The limit of each query to the broker or the store; below Prometheus' usual timeout by default. */
  readonly queryTimeoutMs?: number;
}

/** The router; `tally` and `getIndex` are undefined where none runs. */
export interface WatchedRouter {
  readonly watched: WatchedLog;
  readonly tally: Pick<RouterTally, "getCounts" | "listBusiest"> | undefined;
  readonly getIndex: (() => IndexStatus) | undefined;
}

/**
 * Creates the function that reads the status of the sync. It never throws: unknown values are null, and
 * `problems` has the reasons.
 */
export function createStatus({
  announcements,
  pushFeedback,
  tally,
  feedbackTally,
  router,
  queryTimeoutMs = 5_000,
}: StatusOptions): () => Promise<SyncStatus> {
  return async () => {
    const problems = new Set<string>();
    const ask: Ask = async (what, query) =>
      withTimeout(queryTimeoutMs, query).catch((error: unknown) => {
        problems.add(`${what}: ${getErrorMessage(error)}`);
        return undefined;
      });
    const [synced, feedback, routed] = await Promise.all([
      readPartitionStatuses(announcements, ask),
      pushFeedback === undefined
        ? null
        : readPartitionStatuses(pushFeedback, (what, query) => ask(`${what} of the push feedback`, query)),
      router === undefined ? null : readRouterStatus(router, ask),
    ]);
    return {
      ...synced,
      since: tally?.since.toISOString() ?? null,
      counts: tally?.getCounts() ?? null,
      pushFeedback: feedback && { ...feedback, counts: feedbackTally?.getCounts() ?? null },
      router: routed,
      problems: [...problems],
    };
  };
}

async function readRouterStatus(
  { watched, tally, getIndex }: WatchedRouter,
  ask: Ask,
): Promise<NonNullable<SyncStatus["router"]>> {
  const index = getIndex?.();
  return {
    ...(await readPartitionStatuses(watched, (what, query) => ask(`${what} of the router`, query))),
    counts: tally?.getCounts() ?? null,
    index:
      index === undefined
        ? null
        : { state: index.mode, topics: index.topics, topicsRead: index.topicsRead ?? null },
    busiest: [...(tally?.listBusiest() ?? [])],
  };
}
