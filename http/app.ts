import type { RequestListener } from "node:http";

import type { SyncStatus } from "../schemas/sync-status.ts";
import type { Audit } from "../src/audit.ts";
import type { InstallationListing } from "../src/installations/listing.ts";
import type { InstallationService } from "../src/installations/service.ts";
import type { Logger } from "../src/logger.ts";
import type { TopicDirectory } from "../src/picking/directory.ts";
import type { TopicService } from "../src/topics/service.ts";
import type { Tracing } from "../src/tracing/tracing.ts";
import { addressBehind } from "./address.ts";
import { createSend } from "./answer.ts";
import type { Authentication } from "./authentication.ts";
import { documentationOperations } from "./documentation.ts";
import { begin } from "./exchange.ts";
import { createFail } from "./fail.ts";
import { guard } from "./guard.ts";
import { healthOperations, type CheckReadiness, type MetricsText } from "./health.ts";
import { installationListOperations } from "./installation-list.ts";
import { installationOperations } from "./installations.ts";
import { pathIn } from "./message.ts";
import type { SecuritySchemes } from "./openapi.ts";
import type { Operation } from "./operation.ts";
import { pickOperations } from "./pick.ts";
import { requestTrace } from "./request-trace.ts";
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
  /** Undefined: requests are not traced. */
  readonly tracing?: Tracing | undefined;
  readonly log: Logger;
}

/** What all operations are served with, as opposed to what they do. */
type EdgeOption = "authentication" | "audit" | "overTls" | "trustedProxies" | "tracing" | "log";

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
  const { authentication, audit, overTls, trustedProxies, tracing, log } = options;
  const send = createSend(apiHeaders({ overTls }), log, tracing && requestTrace(tracing, { overTls }));
  const fail = createFail(send, log);
  const addressOf = addressBehind(trustedProxies);
  const answer = serve(operationsOf(options), { authentication, audit, addressOf, send, fail });
  return (request, response) => {
    const exchange = begin(request, response);
    try {
      request.url = pathIn(request.url ?? "");
      guard(exchange);
    } catch (error) {
      fail(exchange, error);
      return;
    }
    answer(exchange);
  };
}
