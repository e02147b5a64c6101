import { randomUUID } from "node:crypto";

import express, { type Express } from "express";
import { pinoHttp } from "pino-http";

import type { SyncStatus } from "../schemas/sync-status.ts";
import type { InstallationService } from "../src/installations/service.ts";
import type { Logger } from "../src/logger.ts";
import type { TopicDirectory } from "../src/picking/directory.ts";
import type { TopicService } from "../src/topics/service.ts";
import type { Authenticate } from "../src/users/credentials.ts";
import { errorHandler, notFound } from "./errors.ts";
import { healthRoutes, type CheckReadiness, type MetricsText } from "./health.ts";
import { installationRoutes } from "./installations.ts";
import { pickRoutes } from "./pick.ts";
import { syncRoutes } from "./sync.ts";
import { topicRoutes } from "./topics.ts";

export interface AppOptions {
  readonly topics: TopicService;
  readonly directory: TopicDirectory;
  readonly installations: InstallationService;
  readonly authenticate: Authenticate;
  readonly checkReadiness: CheckReadiness;
  readonly metrics: MetricsText;
  readonly syncStatus: () => Promise<SyncStatus>;
  readonly log: Logger;
}

/** Builds the HTTP facade; it listens nowhere yet. */
export function createApp(options: AppOptions): Express {
  const { topics, directory, installations, authenticate, log } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.set("query parser", "simple");

  app.use(requestLog(log));
  app.use(healthRoutes(options.checkReadiness, options.metrics));
  app.use(topicRoutes(topics, authenticate));
  app.use(pickRoutes(directory, authenticate));
  app.use(installationRoutes(installations, authenticate));
  app.use(syncRoutes(options.syncStatus, authenticate));
  app.use(notFound);
  app.use(errorHandler);
  return app;
}

/** Gives each request an id and logs it when it is answered: no headers and no bodies, so no secret can slip through. */
function requestLog(log: Logger) {
  return pinoHttp({
    logger: log,
    genReqId(request, response) {
      const given = request.headers["x-request-id"];
      const id = typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
      response.setHeader("X-Request-Id", id);
      return id;
    },
    // Asked again and again by machines.
    autoLogging: { ignore: ({ url = "" }) => ["/healthz", "/readyz", "/metrics"].includes(url) },
    customLogLevel: (_request, response) => (response.statusCode >= 500 ? "warn" : "info"),
    customSuccessMessage: (request, response) =>
      `${request.method} ${request.url ?? ""} ${response.statusCode}`,
    customErrorMessage: (request, response) =>
      `${request.method} ${request.url ?? ""} ${response.statusCode}`,
    quietReqLogger: true,
    customAttributeKeys: { reqId: "requestId", responseTime: "ms" },
    serializers: { req: () => undefined, res: () => undefined, err: () => undefined },
  });
}
