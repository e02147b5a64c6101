import express, { type Express } from "express";

import type { Audit } from "@topicsync/lib/audit/audit";
import type { RecordRefusal } from "@topicsync/lib/audit/refusals";
import type { Logger } from "@topicsync/lib/logger";
import type { Tracing } from "@topicsync/lib/tracing";
import type { Operation } from "../src/operations/framework/operation.ts";
import type { OperationServices } from "../src/operations/framework/services.ts";
import { healthOperations } from "../src/operations/health.ts";
import { operations } from "../src/operations/index.ts";
import type { Authenticate, AuthenticateAfresh } from "../src/users/authenticate.ts";
import type { VerifyToken } from "../src/users/bearer-token.ts";
import type { ForgeryThrottle } from "../src/users/forgery-throttle.ts";
import type { CheckKey } from "../src/users/key-check.ts";
import type { Sessions } from "../src/users/session.ts";
import { createAuthentication } from "./framework/auth.ts";
import { createRequestContext, createRequestLog } from "./framework/context.ts";
import { createErrorHandler, rejectUnknownPath } from "./framework/error-response.ts";
import { createEventStreams } from "./framework/event-stream.ts";
import { apiSecurityHeaders } from "./framework/headers.ts";
import { checkMessage } from "./framework/message.ts";
import { createRequestMetrics, type RecordRequest } from "./framework/metrics.ts";
import { createRouter } from "./framework/router.ts";
import { createRequestTracing } from "./framework/tracing.ts";
import { documentationOperations } from "./openapi/docs-page.ts";
import { bearerScheme, defaultSchemes } from "./openapi/document.ts";
import { consoleOperations, type ConsoleFiles } from "./routes/console.ts";
import { openIdOperations, type OpenIdOptions } from "./routes/openid-sign-in.ts";
import { sessionOperations } from "./routes/sessions.ts";

export interface AppOptions {
  readonly services: OperationServices;
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
  readonly recordRequest: RecordRequest;
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

/** What decides which operations there are besides those of the domain, and what they do. */
type ListOptions = Pick<
  AppOptions,
  "isManagedApart" | "sessions" | "verifyAfresh" | "openId" | "consoleFiles" | "checkToken"
>;

/** All operations of the HTTP API: the router tries them in this order. */
export function listOperations(options: ListOptions): readonly Operation[] {
  const all = [
    ...operations,
    ...(options.isManagedApart ? [] : healthOperations),
    ...sessionOperations(options),
    ...openIdOperations(options.openId, options.sessions),
    ...consoleOperations(options.consoleFiles),
  ];
  const schemes = options.checkToken === undefined ? defaultSchemes : { ...defaultSchemes, ...bearerScheme };
  return [...all, ...documentationOperations(all, schemes)];
}

/** The API, and probes and metrics unless they are served apart. */
export const createApp = (options: AppOptions): Express => assemble(listOperations(options), options);

/** The probes and metrics alone. */
export const createManagementApp = (options: AppOptions): Express => assemble(healthOperations, options);

function assemble(declared: readonly Operation[], options: AppOptions): Express {
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
    createRouter(declared, {
      services: options.services,
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
