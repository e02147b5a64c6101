import { getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import { rejectOnAbort } from "@topicsync/lib/concurrency/timeout";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import {
  readPartitionStatuses,
  type Ask,
  type StatusStep,
  type WatchedLog,
} from "../../../consumers/partition-status.ts";
import type { IndexStatus } from "../../topics/live/topic-index.ts";
import type { RouterTally } from "../../routing/tally.ts";
import type { FeedbackOutcome } from "../../installations/feedback.ts";
import type { AnnouncementOutcome } from "../../topics/decide.ts";
import type { Tally } from "./sync-tally.ts";

interface StatusOptions {
  readonly announcements: WatchedLog;
  /** Undefined when no push feedback is read. */
  readonly pushFeedback: WatchedLog | undefined;
  /** What this process counted; undefined where no consumer runs. */
  readonly tally: Pick<Tally<AnnouncementOutcome>, "since" | "getCounts"> | undefined;
  readonly feedbackTally: Pick<Tally<FeedbackOutcome>, "getCounts"> | undefined;
  /** Undefined when no events are forwarded. */
  readonly router: WatchedRouter | undefined;
  readonly limitsMs?: StatusLimits;
}

/** When the queries of each step are given up, after the status was asked for. */
export type StatusLimits = Readonly<Record<StatusStep, number>>;

/** The router; `tally` and `getIndex` are undefined where none runs. */
export interface WatchedRouter {
  readonly watched: WatchedLog;
  readonly tally: Pick<RouterTally, "getCounts" | "listBusiest"> | undefined;
  readonly getIndex: (() => IndexStatus) | undefined;
  readonly countBackfills: () => Promise<number>;
}

/**
 * Those of a service, whose connections are open. They leave time to respond within 3 s (contract, section
 * 4); a store that does not respond leaves time to ask the broker.
 */
const serviceLimitsMs: StatusLimits = { positions: 1_000, log: 1_700, ages: 2_200 };

/**
 * Creates the function that reads the status of the sync, within its limits whatever does not respond. It
 * never throws: unknown values are null, and `problems` has the reasons.
 */
export function createStatus({
  announcements,
  pushFeedback,
  tally,
  feedbackTally,
  router,
  limitsMs = serviceLimitsMs,
}: StatusOptions): () => Promise<SyncStatus> {
  return async () => {
    const problems = new Set<string>();
    const ask = createAsk(limitsMs, (problem) => problems.add(problem));
    const [synced, feedback, routed] = await Promise.all([
      readPartitionStatuses(announcements, ask),
      pushFeedback === undefined
        ? null
        : readPartitionStatuses(pushFeedback, (what, ...query) =>
            ask(`${what} of the push feedback`, ...query),
          ),
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

/** Starts the time limits. */
function createAsk(limitsMs: StatusLimits, onProblem: (problem: string) => void): Ask {
  const startLimit = (step: StatusStep): Promise<never> => {
    const late = new UnavailableError(`no response within ${limitsMs[step] / 1_000} s`);
    const limit = rejectOnAbort(AbortSignal.timeout(limitsMs[step])).catch(() => Promise.reject(late));
    limit.catch(() => undefined);
    return limit;
  };
  const limits = { positions: startLimit("positions"), log: startLimit("log"), ages: startLimit("ages") };
  return async (what, query, step) => {
    query.catch(() => undefined);
    try {
      return await Promise.race([query, limits[step]]);
    } catch (error) {
      onProblem(`${what}: ${getErrorMessage(error)}`);
      return undefined;
    }
  };
}

async function readRouterStatus(
  { watched, tally, getIndex, countBackfills }: WatchedRouter,
  ask: Ask,
): Promise<NonNullable<SyncStatus["router"]>> {
  const index = getIndex?.();
  const [read, backfills = null] = await Promise.all([
    readPartitionStatuses(watched, (what, ...query) => ask(`${what} of the router`, ...query)),
    ask("backfills", countBackfills(), "positions"),
  ]);
  return {
    ...read,
    backfills,
    counts: tally?.getCounts() ?? null,
    index:
      index === undefined
        ? null
        : { state: index.mode, topics: index.topics, topicsRead: index.topicsRead ?? null },
    busiest: [...(tally?.listBusiest() ?? [])],
  };
}
