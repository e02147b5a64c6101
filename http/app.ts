import express, { type Express } from "express";

import type { Operation } from "../src/operations/framework/operation.ts";
import { healthOperations } from "../src/operations/health.ts";
import { operations } from "../src/operations/index.ts";
import { createAuthentication, type AuthenticationOptions } from "./framework/auth.ts";
import { createRequestContext, getBasePath } from "./framework/context.ts";
import { createErrorHandler, rejectUnknownPath } from "./framework/error-response.ts";
import { createEventStreams } from "./framework/event-stream.ts";
import { setResponseHeaders } from "./framework/headers.ts";
import { checkMessage } from "./framework/message.ts";
import { observeRequests, type Observers } from "./framework/observation.ts";
import { createRouter, runAll, type RouterOptions } from "./framework/router.ts";
import { documentationOperations } from "./openapi/docs-page.ts";
import { bearerScheme, defaultSchemes } from "./openapi/document.ts";
import { consoleOperations, type ConsoleFiles } from "./routes/console.ts";
import { openIdOperations, type OpenIdOptions } from "./routes/openid-sign-in.ts";
import { sessionOperations } from "./routes/sessions.ts";

export interface AppOptions
  extends
    Observers,
    Omit<AuthenticationOptions, "sessions">,
    Omit<RouterOptions, "authenticate" | "streams"> {
  /** Undefined: no sign-in with OpenID. */
  readonly openId: OpenIdOptions | undefined;
  readonly consoleFiles: ConsoleFiles | undefined;
  /** Whether probes and metrics are served by a server of their own. */
  readonly isManagedApart: boolean;
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For and -Proto headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** What decides which operations there are besides those of the domain, and what they do. */
type ListOptions = Pick<AppOptions, "isManagedApart" | "openId" | "consoleFiles" | "checkToken">;

/** All operations of the HTTP API: the router tries them in this order. */
export function listOperations(options: ListOptions): readonly Operation[] {
  const all = [
    ...operations,
    ...(options.isManagedApart ? [] : healthOperations),
    ...sessionOperations,
    ...openIdOperations(options.openId),
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
  const { services, recordRefusal, overTls, publicUrl, trustedProxies, log, stopping } = options;
  const app = express();
  app.disable("x-powered-by").disable("etag").enable("case sensitive routing");
  app.set("trust proxy", trustedProxies);
  const router = createRouter(declared, {
    ...options,
    authenticate: createAuthentication({ ...options, sessions: services.sessions }),
    streams: createEventStreams(stopping),
  });
  app.use(
    runAll([
      createRequestContext(publicUrl),
      observeRequests(options),
      setResponseHeaders({ overTls }),
      checkMessage,
      router,
    ]),
  );
  // Some proxies keep the path of the public URL, most remove it.
  const basePath = getBasePath(publicUrl);
  if (basePath !== "") app.use(basePath, router);
  app.use(rejectUnknownPath);
  app.use(createErrorHandler(log, recordRefusal));
  return app;
}
