import { setTimeout as sleep } from "node:timers/promises";

import { overviewSchema } from "../schemas/overview.ts";
import type { TellOverview } from "../src/overview/overview.ts";
import { operation, type Operation } from "./operation.ts";

const everyMs = 2_000;

/** How everything is, once and for ever. */
export const overviewOperations = (overview: TellOverview): readonly Operation[] => [
  operation({
    id: "getOverview",
    method: "GET",
    paths: ["/api/topicsync/v1/overview"],
    access: "user",
    tag: "operation",
    summary: "Tell how everything is",
    description:
      "Health, where the sync stands and stood, what was refused lately, how many installations there are.",
    replies: { 200: { description: "How everything is.", schema: overviewSchema } },
    handle: async () => ({ status: 200, json: await overview(), headers: { "Cache-Control": "no-store" } }),
  }),
  operation({
    id: "watchOverview",
    method: "GET",
    paths: ["/api/topicsync/v1/overview/events"],
    access: "user",
    tag: "operation",
    summary: "Tell how everything is, again and again",
    description:
      "Server-sent events: every two seconds one whose data is what `getOverview` answers. It ends when the service stops; whoever watches asks again then.",
    replies: { 200: { description: "The events.", mediaType: "text/event-stream" } },
    handle: () => ({
      status: 200,
      async *events(abort) {
        while (!abort.aborted) {
          yield await overview();
          await sleep(everyMs, undefined, { signal: abort }).catch(() => undefined);
        }
      },
    }),
  }),
];
