import express, { type Express } from "express";

import type { Overview } from "../schemas/overview.ts";
import type { SyncStatus } from "../schemas/sync-status.ts";
import type { Audit } from "../src/lib/audit.ts";
import type { RecordRefusal } from "../src/lib/audit-refusals.ts";
import type { EventTypeService } from "../src/event-types/service.ts";
import type { ImpactPreview } from "../src/plans/impact/preview.ts";
import type { CatalogAdministration } from "../src/installations/catalog.ts";
import type { Logger } from "../src/lib/logger.ts";
import type { EgressNaming } from "../src/kafka/interface/egress-naming.ts";
import type { Sessions } from "../src/users/session.ts";
import type { DecodeEventText } from "../src/routing/event.ts";
import type { LiveTopicIndex } from "../src/topics/live/live-topic-index.ts";
import type { TopicHistory } from "../src/topics/history.ts";
import type { DetailsService } from "../src/topics/details-service.ts";
import type { TopicDetailsStore } from "../src/topics/details-store.ts";
import type { TopicReader } from "../src/topics/listing.ts";
import type { TopicService } from "../src/topics/service.ts";
import type { TopicUsageStore } from "../src/topics/usage.ts";
import type { KeyAdministration } from "../src/users/key.ts";
import type { CheckKey } from "../src/users/key-check.ts";
import type { UserAdministration } from "../src/users/administration.ts";
import type { Authenticate, AuthenticateAfresh } from "../src/users/authenticate.ts";
import type { Namespaces } from "../src/users/rights.ts";
import type { ForgeryThrottle } from "../src/users/forgery-throttle.ts";
import type { VerifyToken } from "../src/users/bearer-token.ts";
import type { Tracing } from "../src/lib/tracing.ts";
import { createAuthentication } from "./framework/auth.ts";
import { createRequestContext, createRequestLog } from "./framework/context.ts";
import { createErrorHandler, rejectUnknownPath } from "./framework/error-response.ts";
import { createEventStreams } from "./framework/event-stream.ts";
import { apiSecurityHeaders } from "./framework/headers.ts";
import { checkMessage } from "./framework/message.ts";
import { createRequestMetrics, type RecordRequest } from "./framework/metrics.ts";
import type { Operation } from "./framework/operation.ts";
import { createRouter } from "./framework/router.ts";
import { createRequestTracing } from "./framework/tracing.ts";
import { documentationOperations } from "./openapi/docs-page.ts";
import { applicationOperations, platformOperations } from "./routes/catalog.ts";
import { consoleOperations, type ConsoleFiles } from "./routes/console.ts";
import { deadLetterOperations, type DeadLetterServices } from "./routes/dead-letters.ts";
import { eventTypeOperations } from "./routes/event-types.ts";
import { healthOperations, type CheckReadiness, type MetricsText } from "./routes/health.ts";
import { impactOperations } from "./routes/impact.ts";
import { installationOperations, type InstallationServices } from "./routes/installations.ts";
import { openIdOperations, type OpenIdOptions } from "./routes/openid-sign-in.ts";
import { bearerScheme, defaultSchemes } from "./openapi/document.ts";
import { pickOperations } from "./routes/pick.ts";
import { sessionOperations } from "./routes/sessions.ts";
import { statusOperations } from "./routes/status.ts";
import { topicChangeOperations } from "./routes/topic-changes.ts";
import { topicHistoryOperations } from "./routes/topic-versions.ts";
import { topicDetailsOperations } from "./routes/topic-details.ts";
import { topicRelationOperations } from "./routes/topic-relations.ts";
import { topicUsageOperations } from "./routes/topic-usage.ts";
import { topicOperations } from "./routes/topics.ts";
import { topicSetOperations, type TopicSetServices } from "./routes/topic-sets.ts";
import { keyOperations } from "./routes/keys.ts";
import { userOperations } from "./routes/users.ts";

export interface AppOptions extends TopicSetServices {
  readonly topics: TopicService;
  readonly topicReader: TopicReader;
  readonly topicHistory: TopicHistory;
  readonly topicDetails: TopicDetailsStore;
  readonly detailsService: DetailsService;
  readonly topicIndex: LiveTopicIndex;
  readonly decodeEventText: DecodeEventText;
  /** Undefined: no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
  readonly eventTypes: EventTypeService;
  /** Undefined: no router is configured. */
  readonly impact: ImpactPreview | undefined;
  readonly topicUsage: TopicUsageStore;
  readonly installations: InstallationServices;
  readonly users: UserAdministration;
  readonly keys: KeyAdministration;
  readonly applications: CatalogAdministration;
  readonly platforms: CatalogAdministration;
  readonly sessions: Sessions;
  /** Undefined: no sign-in with OpenID. */
  readonly openId: OpenIdOptions | undefined;
  readonly verify: Authenticate;
  readonly verifyAfresh: AuthenticateAfresh;
  readonly checkKey: CheckKey;
  /** Undefined: tokens of an OpenID provider are not accepted. */
  readonly checkToken: VerifyToken | undefined;
  readonly forgeries: ForgeryThrottle;
  readonly consoleFiles: ConsoleFiles | undefined;
  readonly audit: Audit;
  /** Records failed logins and refused requests. */
  readonly recordRefusal: RecordRefusal;
  readonly checkReadiness: CheckReadiness;
  readonly metrics: MetricsText;
  readonly recordRequest: RecordRequest;
  readonly getSyncStatus: () => Promise<SyncStatus>;
  readonly getOverview: (namespaces: Namespaces) => Promise<Overview>;
  readonly deadLetters: DeadLetterServices;
  /** Whether probes and metrics are served by a server of their own. */
  readonly isManagedApart: boolean;
  /** Whether this server uses TLS. */
  readonly overTls: boolean;
  /** Where browsers reach the service, if known. */
  readonly publicUrl: string | undefined;
  /** Other sites whose pages may call the push operations. */
  readonly allowedOrigins: readonly string[];
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For and -Proto headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Undefined: requests are not traced. */
  readonly tracing?: Tracing | undefined;
  readonly log: Logger;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** Options of the framework, which no operation needs. */
type FrameworkOption =
  | "audit"
  | "recordRefusal"
  | "verify"
  | "checkKey"
  | "forgeries"
  | "recordRequest"
  | "overTls"
  | "publicUrl"
  | "allowedOrigins"
  | "trustedProxies"
  | "tracing"
  | "log"
  | "stopping";

/** All operations of the HTTP API, the most frequent first: the router tries them in this order. */
export function listOperations(options: Omit<AppOptions, FrameworkOption>): readonly Operation[] {
  const operations = [
    ...installationOperations(options.installations),
    ...topicOperations(options),
    ...topicHistoryOperations(options),
    ...topicChangeOperations(options),
    ...topicDetailsOperations(options),
    ...topicSetOperations(options),
    ...topicUsageOperations(options),
    ...topicRelationOperations(options),
    ...pickOperations(options),
    ...impactOperations(options),
    ...statusOperations(options),
    ...eventTypeOperations(options.eventTypes),
    ...deadLetterOperations(options.deadLetters),
    ...(options.isManagedApart ? [] : healthOperations(options.checkReadiness, options.metrics)),
    ...userOperations(options.users),
    ...keyOperations(options.keys),
    ...applicationOperations(options.applications),
    ...platformOperations(options.platforms),
    ...sessionOperations(options),
    ...openIdOperations(options.openId, options.sessions),
    ...consoleOperations(options.consoleFiles),
  ];
  const schemes = options.checkToken === undefined ? defaultSchemes : { ...defaultSchemes, ...bearerScheme };
  return [...operations, ...documentationOperations(operations, schemes)];
}

/** The API, and probes and metrics unless they are served apart. */
export const createApp = (options: AppOptions): Express => assemble(listOperations(options), options);

/** The probes and metrics alone. */
export const createManagementApp = (options: AppOptions): Express =>
  assemble(healthOperations(options.checkReadiness, options.metrics), options);

function assemble(operations: readonly Operation[], options: AppOptions): Express {
  const { audit, recordRefusal, recordRequest, overTls, publicUrl, trustedProxies, tracing, log, stopping } =
    options;
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.set("trust proxy", trustedProxies);
  app.use(createRequestContext(publicUrl));
  app.use(createRequestLog(log));
  app.use(createRequestMetrics(recordRequest));
  if (tracing !== undefined) app.use(createRequestTracing(tracing, { overTls }));
  app.use(apiSecurityHeaders({ overTls }));
  app.use(checkMessage);
  app.use(
    createRouter(operations, {
      authenticate: createAuthentication(options),
      audit,
      recordRefusal,
      streams: createEventStreams(stopping),
      publicUrl,
      allowedOrigins: options.allowedOrigins,
    }),
  );
  app.use(rejectUnknownPath);
  app.use(createErrorHandler(log, recordRefusal));
  return app;
}
