import { setTimeout as sleep } from "node:timers/promises";

import { overviewSchema, type Overview } from "../../schemas/overview.ts";
import { syncStatusSchema, type SyncStatus } from "../../schemas/sync-status.ts";
import { roles, type User } from "../../src/users/user.ts";
import { noStore } from "../framework/headers.ts";
import { operation, type Operation } from "../framework/operation.ts";

export interface StatusSources {
  readonly getSyncStatus: () => Promise<SyncStatus>;
  readonly getOverview: () => Promise<Overview>;
}

const eventIntervalMs = 2_000;

/** Dead letters and the reasons why they cannot be read are shown only to those who may read dead letters. */
const visibleTo = (user: User, overview: Overview): Overview =>
  user.roles.includes(roles.eventManagement) ? overview : { ...overview, deadLetters: null, problems: [] };

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
    handle: async () => ({ status: 200, json: await getSyncStatus(), headers: noStore }),
  }),
  operation({
    id: "getOverview",
    method: "GET",
    paths: ["/api/topicsync/v1/overview"],
    access: "user",
    tag: "operation",
    summary: "Get the overview",
    description: `Health, current and recent sync progress, and installation counts. With the role \`${roles.eventManagement}\` also the latest dead letters.`,
    replies: { 200: { description: "The overview.", schema: overviewSchema } },
    handle: async ({ user }) => ({
      status: 200,
      json: visibleTo(user, await getOverview()),
      headers: noStore,
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
          yield visibleTo(user, await getOverview());
          await sleep(eventIntervalMs, undefined, { signal: abort }).catch(() => undefined);
        }
      },
    }),
  }),
];
