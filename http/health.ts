import { Router } from "express";

import { methodNotAllowed } from "./errors.ts";

/** Whether a part of the service works, and why not. */
export interface Check {
  readonly ok: boolean;
  readonly reason?: string;
}

/** Looks at everything that the service needs to do its work. Never throws. */
export type CheckReadiness = () => Promise<Readonly<Record<string, Check>>>;

/** `GET /healthz` (the process lives) and `GET /readyz` (it can do its work; says what cannot). */
export function healthRoutes(checkReadiness: CheckReadiness): Router {
  const router = Router();
  router.get("/healthz", (_request, response) => {
    response.json({ status: "alive" });
  });
  router.get("/readyz", async (_request, response) => {
    const checks = await checkReadiness();
    const ready = Object.values(checks).every(({ ok }) => ok);
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready", checks });
  });
  router.all(["/healthz", "/readyz"], methodNotAllowed("GET, HEAD"));
  return router;
}
