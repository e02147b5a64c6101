import { Router } from "express";

import type { SyncStatus } from "../schemas/sync-status.ts";
import type { Authenticate } from "../src/users/credentials.ts";
import { authenticated } from "./authentication.ts";
import { methodNotAllowed } from "./errors.ts";

const path = "/api/topicsync/v1/sync";

/** `GET /api/topicsync/v1/sync`: where the sync stands, for every user. */
export function syncRoutes(status: () => Promise<SyncStatus>, authenticate: Authenticate): Router {
  const router = Router({ caseSensitive: true });
  router.get(path, authenticated(authenticate), async (_request, response) => {
    response.set("Cache-Control", "no-store").json(await status());
  });
  router.all(path, methodNotAllowed("GET, HEAD"));
  return router;
}
