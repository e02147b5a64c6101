import type { RequestListener } from "node:http";

import express from "express";

import type { SyncStatus } from "../schemas/sync-status.ts";
import type { Audit } from "../src/audit.ts";
import type { InstallationListing } from "../src/installations/listing.ts";
import type { InstallationService } from "../src/installations/service.ts";
import type { Logger } from "../src/logger.ts";
import type { TopicDirectory } from "../src/picking/directory.ts";
import type { TopicService } from "../src/topics/service.ts";
import { addressBehind } from "./address.ts";
import type { Authentication } from "./authentication.ts";
import { documentationOperations } from "./documentation.ts";
import { errorHandler, notFound } from "./errors.ts";
import { guard } from "./guard.ts";
import { healthOperations, type CheckReadiness, type MetricsText } from "./health.ts";
import { installationListOperations } from "./installation-list.ts";
import { installationOperations } from "./installations.ts";
import { pathIn } from "./message.ts";
import type { SecuritySchemes } from "./openapi.ts";
import type { Operation } from "./operation.ts";
import { pickOperations } from "./pick.ts";
import { requestLog } from "./request-log.ts";
import { apiHeaders } from "./secure-headers.ts";
import { serve } from "./serve.ts";
import { syncOperations } from "./sync.ts";
import { topicOperations } from "./topics.ts";

export interface AppOptions {
  readonly topics: TopicService;
  readonly directory: TopicDirectory;
  readonly installations: InstallationService;
  readonly listing: InstallationListing;
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly checkReadiness: CheckReadiness;
  readonly metrics: MetricsText;
  readonly syncStatus: () => Promise<SyncStatus>;
  /** How callers can show who they are; HTTP Basic when not given. */
  readonly securitySchemes?: SecuritySchemes;
  /** Whether the facade is reached over TLS. */
  readonly overTls: boolean;
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly log: Logger;
}

/** What all operations are served with, as opposed to what they do. */
type EdgeOption = "authentication" | "audit" | "overTls" | "trustedProxies" | "log";

/** Everything that can be asked for over HTTP, what is asked for most first. */
export function operationsOf(options: Omit<AppOptions, EdgeOption>): readonly Operation[] {
  const operations = [
    ...installationOperations(options.installations),
    ...installationListOperations(options.listing),
    ...topicOperations(options.topics),
    ...pickOperations(options.directory),
    ...syncOperations(options.syncStatus),
    ...healthOperations(options.checkReadiness, options.metrics),
  ];
  return [...operations, ...documentationOperations(operations, options.securitySchemes)];
}

/** Builds the HTTP facade; it listens nowhere yet. */
export function createApp(options: AppOptions): RequestListener {
  const { authentication, audit, overTls, trustedProxies, log } = options;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.set("query parser", "simple");
  app.set("trust proxy", [...trustedProxies]);

  // Lines of a fixed shape have nothing to redact, and to look for it takes longer than to write them.
  app.use(requestLog(log.child({}, { redact: [] })));
  app.use(guard(apiHeaders({ overTls })));
  app.use(serve(operationsOf(options), { authentication, audit, addressOf: addressBehind(trustedProxies) }));
  app.use(notFound);
  app.use(errorHandler(log));
  return (request, response) => {
    request.url = pathIn(request.url ?? "");
    app(request, response);
  };
}
