import express, { type Express } from "express";

import type { Audit } from "@topicsync/lib/audit/audit";
import type { RecordRefusal } from "@topicsync/lib/audit/refusals";
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
import { createRequestContext } from "./framework/context.ts";
import { createErrorHandler, rejectUnknownPath } from "./framework/error-response.ts";
import { createEventStreams } from "./framework/event-stream.ts";
import { setResponseHeaders } from "./framework/headers.ts";
import { checkMessage } from "./framework/message.ts";
import { observeRequests, type Observers } from "./framework/observation.ts";
import { createRouter } from "./framework/router.ts";
import { documentationOperations } from "./openapi/docs-page.ts";
import { bearerScheme, defaultSchemes } from "./openapi/document.ts";
import { consoleOperations, type ConsoleFiles } from "./routes/console.ts";
import { openIdOperations, type OpenIdOptions } from "./routes/openid-sign-in.ts";
import { sessionOperations } from "./routes/sessions.ts";

export interface AppOptions extends Observers {
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
  /** Whether probes and metrics are served by a server of their own. */
  readonly isManagedApart: boolean;
  /** Where browsers reach the service, if known. */
  readonly publicUrl: string | undefined;
  /** Other sites whose pages may call the push operations. */
  readonly allowedOrigins: readonly string[];
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For and -Proto headers are trusted. */
  readonly trustedProxies: readonly string[];
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
  const { audit, recordRefusal, overTls, publicUrl, trustedProxies, log, stopping } = options;
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.set("trust proxy", trustedProxies);
  app.use(createRequestContext(publicUrl));
  app.use(observeRequests(options));
  app.use(setResponseHeaders({ overTls }));
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
