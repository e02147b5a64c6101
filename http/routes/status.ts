import { setTimeout as sleep } from "node:timers/promises";

import { overviewSchema, type Overview } from "../../schemas/overview.ts";
import { syncStatusSchema, type SyncStatus } from "../../schemas/sync-status.ts";
import { hasAnyRole, roles, type User } from "../../src/users/user.ts";
import { hideReasons } from "./health.ts";
import { operation, type Operation } from "../framework/operation.ts";

interface StatusSources {
  readonly getSyncStatus: () => Promise<SyncStatus>;
  readonly getOverview: () => Promise<Overview>;
}

const eventIntervalMs = 2_000;

/**
 * Dead letters and the names of topics are shown to those who may read them; addresses, errors and numbers of
 * tokens to those with a role. Everybody else, such as a device, sees whether the service works and how far
 * behind it is.
 */
function toVisibleOverview(user: User, overview: Overview): Overview {
  const sync = toVisibleSync(user, overview.sync);
  if (user.roles.includes(roles.eventManagement)) return { ...overview, sync };
  const visible = { ...overview, sync, deadLetters: null, problems: [] };
  return hasAnyRole(user)
    ? visible
    : { ...visible, checks: hideReasons(overview.checks), installations: null };
}

function toVisibleSync(user: User, sync: SyncStatus): SyncStatus {
  if (user.roles.includes(roles.eventManagement)) return sync;
  const router = sync.router && { ...sync.router, busiest: [] };
  if (hasAnyRole(user)) return { ...sync, router };
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

/** Names of clients and addresses, and texts of errors. */
const hideOwners = (partitions: SyncStatus["partitions"]): SyncStatus["partitions"] =>
  partitions.map((one) => ({ ...one, owner: one.owner === null ? null : "a member", reason: null }));

/** The sync status and the overview, once and as a stream. */
export const statusOperations = ({ getSyncStatus, getOverview }: StatusSources): readonly Operation[] => [
  operation({
    id: "getSyncStatus",
    method: "GET",
    paths: ["/api/topicsync/v1/sync"],
    access: "user",
    tag: "operation",
    summary: "Get the sync status",
    description: "Position, log end offset, lag and owner of each partition of the announcements topic.",
    replies: { 200: { description: "The sync status.", schema: syncStatusSchema } },
    handle: async ({ user }) => ({ status: 200, json: toVisibleSync(user, await getSyncStatus()) }),
  }),
  operation({
    id: "getOverview",
    method: "GET",
    paths: ["/api/topicsync/v1/overview"],
    access: "user",
    tag: "operation",
    summary: "Get the overview",
    description: `Health, current and recent sync progress, and installation counts. With the role \`${roles.eventManagement}\` also the latest dead letters and the busiest topics; without any role no reasons, addresses and installation counts.`,
    replies: { 200: { description: "The overview.", schema: overviewSchema } },
    handle: async ({ user }) => ({
      status: 200,
      json: toVisibleOverview(user, await getOverview()),
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
    handle: ({ user }) => ({
      status: 200,
      async *events(abort) {
        while (!abort.aborted) {
          yield toVisibleOverview(user, await getOverview());
          await sleep(eventIntervalMs, undefined, { signal: abort }).catch(() => undefined);
        }
      },
    }),
  }),
];
