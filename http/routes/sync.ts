import { syncStatusSchema, type SyncStatus } from "../../schemas/sync-status.ts";
import { operation, type Operation } from "../framework/operation.ts";

/** `GET /api/topicsync/v1/sync`: where the sync stands, for every user. */
export const syncOperations = (status: () => Promise<SyncStatus>): readonly Operation[] => [
  operation({
    id: "getSyncStatus",
    method: "GET",
    paths: ["/api/topicsync/v1/sync"],
    access: "user",
    tag: "operation",
    summary: "Get the sync status",
    description: "Position, log end offset, lag and owner of each partition of the announcements topic.",
    replies: { 200: { description: "The sync status.", schema: syncStatusSchema } },
    handle: async () => ({ status: 200, json: await status(), headers: { "Cache-Control": "no-store" } }),
  }),
];
