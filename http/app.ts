import type { RequestListener } from "node:http";

import type { Overview } from "../schemas/overview.ts";
import type { SyncStatus } from "../schemas/sync-status.ts";
import type { Audit } from "../src/lib/audit.ts";
import type { CatalogAdministration } from "../src/installations/catalog.ts";
import type { Logger } from "../src/lib/logger.ts";
import type { Sessions } from "../src/sessions/session.ts";
import type { LiveTopicIndex } from "../src/matching/live-topic-index.ts";
import type { TopicListing } from "../src/topics/listing.ts";
import type { TopicService } from "../src/topics/service.ts";
import type { UserAdministration } from "../src/users/administration.ts";
import type { TopicSwitch } from "../src/topics/switch.ts";
import type { Authenticate } from "../src/users/authenticate.ts";
import type { VerifyToken } from "../src/users/bearer-token.ts";
import type { Tracing } from "../src/tracing/tracing.ts";
import { addressBehind, createIsSecure } from "./framework/address.ts";
import { createSend } from "./framework/answer.ts";
import { createAuthentication } from "./framework/auth.ts";
import { applicationOperations, platformOperations } from "./routes/catalog.ts";
import { consoleOperations, type ConsoleFiles } from "./routes/console.ts";
import { deadLetterOperations, type DeadLetterServices } from "./routes/dead-letters.ts";
import { documentationOperations } from "./openapi/documentation.ts";
import { begin } from "./framework/exchange.ts";
import { createFail } from "./framework/error-response.ts";
import { guard } from "./framework/guard.ts";
import { healthOperations, type CheckReadiness, type MetricsText } from "./routes/health.ts";
import { installationOperations, type InstallationOperationsOptions } from "./routes/installations.ts";
import { getPath } from "./framework/message.ts";
import { openIdOperations, type OpenIdOptions } from "./routes/openid-sign-in.ts";
import { bearerScheme, usualSchemes } from "./openapi/document.ts";
import type { Operation } from "./framework/operation.ts";
import { overviewOperations } from "./routes/overview.ts";
import { pickOperations } from "./routes/pick.ts";
import { createRequestTrace } from "./framework/tracing.ts";
import { apiHeaders } from "./framework/headers.ts";
import { serve } from "./framework/serve.ts";
import { sessionOperations } from "./routes/sessions.ts";
import { syncOperations } from "./routes/sync.ts";
import { topicOperations } from "./routes/topics.ts";
import { userOperations } from "./routes/users.ts";

export interface AppOptions {
  readonly topics: TopicService;
  readonly topicListing: TopicListing;
  readonly topicSwitch: TopicSwitch;
  readonly topicIndex: LiveTopicIndex;
  readonly installations: InstallationOperationsOptions;
  readonly users: UserAdministration;
  readonly applications: CatalogAdministration;
  readonly platforms: CatalogAdministration;
  readonly sessions: Sessions;
  /** Where people sign in by way of an OpenID provider. */
  readonly openId: OpenIdOptions | undefined;
  readonly verify: Authenticate;
  /** Where the tokens of an OpenID provider are taken. */
  readonly checkToken: VerifyToken | undefined;
  readonly consoleFiles: ConsoleFiles | undefined;
  readonly audit: Audit;
  readonly checkReadiness: CheckReadiness;
  readonly metrics: MetricsText;
  readonly syncStatus: () => Promise<SyncStatus>;
  readonly overview: () => Promise<Overview>;
  readonly deadLetters: DeadLetterServices;
  /** Whether the facade is reached over TLS. */
  readonly overTls: boolean;
  /** Where browsers find the facade, as far as that is known. */
  readonly publicUrl: string | undefined;
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** Undefined: requests are not traced. */
  readonly tracing?: Tracing | undefined;
  readonly log: Logger;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** What all operations are served with, as opposed to what they do. */
type EdgeOption = "audit" | "overTls" | "publicUrl" | "trustedProxies" | "tracing" | "log" | "stopping";

/** Everything that can be asked for over HTTP, what is asked for most first. */
export function listOperations(options: Omit<AppOptions, EdgeOption>): readonly Operation[] {
  const operations = [
    ...installationOperations(options.installations),
    ...topicOperations(options),
    ...pickOperations(options.topicIndex),
    ...syncOperations(options.syncStatus),
    ...overviewOperations(options.overview),
    ...deadLetterOperations(options.deadLetters),
    ...healthOperations(options.checkReadiness, options.metrics),
    ...userOperations(options.users),
    ...applicationOperations(options.applications),
    ...platformOperations(options.platforms),
    ...sessionOperations(options.sessions, options.verify),
    ...openIdOperations(options.openId, options.sessions),
    ...consoleOperations(options.consoleFiles),
  ];
  const schemes = options.checkToken === undefined ? usualSchemes : { ...usualSchemes, ...bearerScheme };
  return [...operations, ...documentationOperations(operations, schemes)];
}

/** Builds the HTTP facade; it listens nowhere yet. */
export function createApp(options: AppOptions): RequestListener {
  const { audit, overTls, trustedProxies, tracing, log, stopping } = options;
  const trace = tracing && createRequestTrace(tracing, { overTls });
  const send = createSend({ common: apiHeaders({ overTls }), log, trace, stopping });
  const fail = createFail(send, log);
  const isSecure = createIsSecure(options);
  const answer = serve(listOperations(options), {
    authentication: createAuthentication({ ...options, isSecure }),
    addressOf: addressBehind(trustedProxies),
    isSecure,
    audit,
    send,
    fail,
  });
  return (request, response) => {
    const exchange = begin(request, response);
    try {
      request.url = getPath(request.url ?? "");
      guard(exchange);
    } catch (error) {
      fail(exchange, error);
      return;
    }
    answer(exchange);
  };
}
