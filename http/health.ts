import { Router } from "express";

import { methodNotAllowed } from "./errors.ts";

/** Whether a part of the service works, and why not. */
export interface Check {
  readonly ok: boolean;
  readonly reason?: string;
}

/** Looks at everything that the service needs to do its work. Never throws. */
export type CheckReadiness = () => Promise<Readonly<Record<string, Check>>>;

/** Numbers for Prometheus. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

/**
 * `GET /healthz` (the process lives), `GET /readyz` (it can do its work; says what cannot) and `GET /metrics`, without
 * credentials: they tell nothing of what is stored.
 */
export function healthRoutes(checkReadiness: CheckReadiness, metrics: MetricsText): Router {
  const router = Router();
  router.get("/healthz", (_request, response) => {
    response.json({ status: "alive" });
  });
  router.get("/readyz", async (_request, response) => {
    const checks = await checkReadiness();
    const ready = Object.values(checks).every(({ ok }) => ok);
    response.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready", checks });
  });
  router.get("/metrics", async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.text());
  });
  router.all(["/healthz", "/readyz", "/metrics"], methodNotAllowed("GET, HEAD"));
  return router;
}
