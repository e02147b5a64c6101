import { setTimeout as sleep } from "node:timers/promises";

import { UnavailableError } from "@topicsync/lib/errors";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import { overviewSchema, type Overview } from "../../schemas/overview.ts";
import { syncStatusSchema, type SyncStatus } from "../../schemas/sync-status.ts";
import { getNamespaces, hasRight } from "../users/rights.ts";
import type { User } from "../users/user.ts";
import { hideReasons } from "./health.ts";
import { operation, type Operation } from "./framework/operation.ts";
import type { OperationServices } from "./framework/services.ts";

type StatusSources = Pick<OperationServices, "getSyncStatus" | "getOverview" | "topicReader">;

const eventIntervalMs = 2_000;
/** What is left of the 3 s of a status response. */
const visibilityTimeoutMs = 700;

/**
 * Dead letters and the names of topics are shown to those who may read them; addresses, errors and numbers of
 * tokens to those with the right `status.read`. Everybody else, such as a device, sees whether the service
 * works and how far behind it is.
 */
async function readVisibleOverview(user: User, sources: StatusSources): Promise<Overview> {
  const namespaces = getNamespaces(user, "dead-letters.read");
  const overview = await sources.getOverview(namespaces);
  const sync = await toVisibleSync(user, overview.sync, sources);
  const deadLetters = namespaces.length === 0 ? null : overview.deadLetters;
  return hasRight(user, "status.read")
    ? { ...overview, sync, deadLetters }
    : {
        ...{ ...overview, sync, deadLetters, installations: null, problems: [] },
        checks: hideReasons(overview.checks),
      };
}

async function toVisibleSync(user: User, all: SyncStatus, sources: StatusSources): Promise<SyncStatus> {
  const router = all.router && {
    ...all.router,
    busiest: await findVisible(user, all.router.busiest, sources),
  };
  const sync = { ...all, router };
  if (hasRight(user, "status.read")) return sync;
  return {
    ...sync,
    partitions: hideOwners(sync.partitions),
    pushFeedback: sync.pushFeedback && {
      ...sync.pushFeedback,
      partitions: hideOwners(sync.pushFeedback.partitions),
    },
    router: router && { ...router, partitions: hideOwners(router.partitions) },
    problems: [],
  };
}

type Busiest = NonNullable<SyncStatus["router"]>["busiest"];

/** The busiest topics that the user may read; none while that is unknown. */
async function findVisible(user: User, busiest: Busiest, { topicReader }: StatusSources): Promise<Busiest> {
  const namespaces = getNamespaces(user, "topics.read");
  if (namespaces === "all") return busiest;
  if (namespaces.length === 0 || busiest.length === 0) return [];
  const externalIds = busiest.map(({ externalId }) => externalId);
  try {
    const found = await withTimeout(
      visibilityTimeoutMs,
      topicReader.readSorted(
        { state: "active", externalIds, namespaces },
        { order: { sort: "externalId", descending: false }, after: undefined, limit: externalIds.length },
      ),
    );
    const visible = new Set(found.map(({ topic }) => topic.externalId));
    return busiest.filter(({ externalId }) => visible.has(externalId));
  } catch (error) {
    // The status must show an outage of the database while it lasts.
    if (error instanceof UnavailableError) return [];
    throw error;
  }
}

/** Names of clients and addresses, and texts of errors. */
const hideOwners = (partitions: SyncStatus["partitions"]): SyncStatus["partitions"] =>
  partitions.map((one) => ({ ...one, owner: one.owner === null ? null : "a member", reason: null }));

/** The sync status and the overview, once and as a stream. */
export const statusOperations: readonly Operation[] = [
  operation({
    id: "getSyncStatus",
    method: "GET",
    paths: ["/api/topicsync/v1/sync"],
    access: "user",
    loginTimeoutMs: 2_500,
    tag: "operation",
    summary: "Get the sync status",
    description: "Position, log end offset, lag and owner of each partition of the announcements topic.",
    replies: { 200: { description: "The sync status.", schema: syncStatusSchema } },
    handle: async ({ user }, sources) => ({
      status: 200,
      json: await toVisibleSync(user, await sources.getSyncStatus(), sources),
    }),
  }),
  operation({
    id: "getOverview",
    method: "GET",
    paths: ["/api/topicsync/v1/overview"],
    access: "user",
    tag: "operation",
    summary: "Get the overview",
    description:
      "Health, current and recent sync progress, and installation counts. With the right `dead-letters.read` also the latest dead letters, with `topics.read` those of the busiest topics that the caller may read; without `status.read` no reasons, addresses and installation counts.",
    replies: { 200: { description: "The overview.", schema: overviewSchema } },
    handle: async ({ user }, sources) => ({
      status: 200,
      json: await readVisibleOverview(user, sources),
    }),
  }),
  operation({
    id: "streamOverview",
    method: "GET",
    paths: ["/api/topicsync/v1/overview/events"],
    access: "user",
    tag: "operation",
    summary: "Stream the overview (server-sent events)",
    description:
      "Sends an event every two seconds with the same data as `getOverview`. The stream ends when the service stops, and within 30 seconds after the caller signs out, the session expires, or the user is disabled or gets a new password or new roles. Each user can have at most 10 streams.",
    replies: { 200: { description: "A stream of events.", mediaType: "text/event-stream" } },
    handle: ({ user }, sources) => ({
      status: 200,
      async *events(abort) {
        while (!abort.aborted) {
          yield await readVisibleOverview(user, sources);
          await sleep(eventIntervalMs, undefined, { signal: abort }).catch(() => undefined);
        }
      },
    }),
  }),
];
