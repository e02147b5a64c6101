import { setTimeout as sleep } from "node:timers/promises";

import { overviewSchema, type Overview } from "../../schemas/overview.ts";
import { roles, type User } from "../../src/users/user.ts";
import { operation, type Operation } from "../framework/operation.ts";

const everyMs = 2_000;

/** Refused announcements, and why they cannot be read, are shown to those who may read dead letters. */
const visibleTo = (user: User, overview: Overview): Overview =>
  user.roles.includes(roles.eventManagement) ? overview : { ...overview, deadLetters: null, problems: [] };

/** The overview, once and as a stream. */
export const overviewOperations = (overview: () => Promise<Overview>): readonly Operation[] => [
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
      json: visibleTo(user, await overview()),
      headers: { "Cache-Control": "no-store" },
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
          yield visibleTo(user, await overview());
          await sleep(everyMs, undefined, { signal: abort }).catch(() => undefined);
        }
      },
    }),
  }),
];
