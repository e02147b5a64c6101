import { Router, type Request } from "express";
import { LRUCache } from "lru-cache";
import type { IncomingMessage } from "node:http";
import { isDeepStrictEqual } from "node:util";

import type { Audit } from "@topicsync/lib/audit/audit";
import type { RecordRefusal } from "@topicsync/lib/audit/refusals";
import { UnavailableError } from "@topicsync/lib/errors";
import { getNamespaces, hasRight } from "../../src/users/rights.ts";
import { nobody } from "../../src/users/user.ts";
import {
  authenticateIfGiven,
  authenticateWith,
  limitAuthentication,
  requireRight,
  type AuthenticateRequest,
} from "./auth.ts";
import { createBodyBudget, readBody, type BodyBudget } from "./body.ts";
import { toOrigin, type Handler, type RequestContext } from "./context.ts";
import { allowCrossOrigin, answerPreflight, rejectCrossSite } from "./cross-site.ts";
import { rejectMethod } from "./error-response.ts";
import { HttpError } from "../../src/operations/framework/errors.ts";
import type { EventStreams } from "./event-stream.ts";
import { setPageHeaders } from "./headers.ts";
import {
  eventStreamType,
  jsonType,
  returnsEvents,
  returnsJson,
  type Operation,
} from "../../src/operations/framework/operation.ts";
import type { OperationServices } from "../../src/operations/framework/services.ts";

/** What every operation is served with. */
export interface RouterOptions {
  readonly services: OperationServices;
  readonly authenticate: AuthenticateRequest;
  readonly audit: Audit;
  readonly recordRefusal: RecordRefusal;
  readonly streams: EventStreams;
  /** Where browsers reach the service, if known. */
  readonly publicUrl: string | undefined;
  /** Other sites whose pages may call the operations that allow it. */
  readonly allowedOrigins: readonly string[];
}

/** Creates the router of the operations. A known path with another method returns 405. */
export function createRouter(operations: readonly Operation[], options: RouterOptions): Handler {
  const router = Router({ caseSensitive: true });
  const cache = createRouteCache();
  const budget = createBodyBudget();
  // As OpenAPI has it, `/dead-letters/replays` is not a `/dead-letters/{id}`: fixed paths are matched first.
  const isTemplate = (path: string): boolean => path.includes("{");
  const paths = Map.groupBy(
    operations.flatMap((operation) => {
      const handlers = createHandlers(operation, options, budget);
      return operation.paths.map((path) => ({ path, operation, handlers }));
    }),
    ({ path }) => path,
  );
  const sorted = [...paths].toSorted(([one], [other]) => Number(isTemplate(one)) - Number(isTemplate(other)));
  for (const [template, declared] of sorted) {
    // `/push/{application}` is `/push/:application` in Express.
    const path = template.replaceAll(/\{(\w+)\}/g, ":$1");
    for (const { operation, handlers } of declared) {
      const handle = runAll([recordRoute(template, operation.id), ...handlers]);
      router[expressMethods[operation.method]](path, cache.remember(handle));
      // Some load balancers check with OPTIONS, and have to learn the state as well.
      if (healthPaths.has(template)) router.options(path, handle);
      if (operation.crossOrigin)
        router.options(path, answerPreflight(operation.method, options.allowedOrigins));
    }
    const allowed = declared.flatMap(({ operation }) => allowedMethods[operation.method]);
    router.all(path, rejectMethod(allowed.join(", ")));
  }
  return cache.before(router);
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Longer URLs are matched by Express each time. */
const maxCachedUrlLength = 256;
const maxCachedRoutes = 1_000;

/**
 * Remembers which handler Express found for a method and URL: most requests are registrations at the same few
 * paths. See docs/decisions/011-plain-express.md for what it is worth.
 */
function createRouteCache() {
  const routes = new LRUCache<
    string,
    { readonly handle: Handler; readonly parameters: Record<string, string> }
  >({
    max: maxCachedRoutes,
  });
  return {
    /** Runs the handler of a known route, or else the router. */
    before:
      (router: Router): Handler =>
      (request, response, next) => {
        const route = routes.get(`${request.method} ${request.url}`);
        if (route === undefined) {
          router(request as Request, response, next);
          return;
        }
        request.params = route.parameters;
        void route.handle(request, response, next);
      },
    /** Remembers the route that Express matched. */
    remember:
      (handle: Handler): Handler =>
      (request, response, next) => {
        const { method, url, params } = request;
        if (url.length <= maxCachedUrlLength) routes.set(`${method} ${url}`, { handle, parameters: params });
        void handle(request, response, next);
      },
  };
}

/** Runs handlers one after another, each when the one before it is done; in less time than Express takes. */
export const runAll =
  (handlers: readonly Handler[]): Handler =>
  (request, response, next) => {
    let index = 0;
    const run = (error?: unknown): void => {
      const handle = handlers[index];
      index += 1;
      if (error !== undefined || handle === undefined) {
        next(error);
        return;
      }
      try {
        const pending: unknown = handle(request, response, run);
        if (pending instanceof Promise) pending.catch(next);
      } catch (thrown) {
        next(thrown);
      }
    };
    run();
  };

/** Express serves HEAD for every GET route. */
const allowedMethods = { GET: ["GET", "HEAD"], POST: ["POST"], PUT: ["PUT"], DELETE: ["DELETE"] } as const;
const expressMethods = { GET: "get", POST: "post", PUT: "put", DELETE: "delete" } as const;

const recordRoute =
  (route: string, operation: string): Handler =>
  (_request, { locals }, next) => {
    locals.route = route;
    locals.operation = operation;
    next();
  };

/**
 * The handlers of an operation, in order. The body is not read before the caller is authorized. What the
 * right `admin` changes outlasts the request, and a body may take long to arrive: the caller is then
 * authenticated again, from the store.
 */
function createHandlers(operation: Operation, options: RouterOptions, budget: BodyBudget): Handler[] {
  const { access, body, crossOrigin, loginTimeoutMs, method, optionalLogin, page, perNamespace, replies } =
    operation;
  const authenticate =
    loginTimeoutMs === undefined
      ? options.authenticate
      : limitAuthentication(loginTimeoutMs, options.authenticate);
  const handlers: Handler[] = [];
  if (method !== "GET")
    handlers.push(rejectCrossSite(options.publicUrl, crossOrigin ? options.allowedOrigins : []));
  else if (crossOrigin) handlers.push(allowCrossOrigin(options.allowedOrigins));
  if (page) handlers.push(setPageHeaders);
  if (access !== "anybody") handlers.push(authenticateWith(authenticate));
  else if (optionalLogin) handlers.push(authenticateIfGiven(authenticate));
  if (access !== "anybody" && access !== "user") handlers.push(requireRight(access, perNamespace));
  if (returnsJson(replies)) handlers.push(requireJsonAccepted(returnsEvents(replies)));
  if (body !== undefined) handlers.push(...readBody(body, budget));
  if (access === "admin" && method !== "GET")
    handlers.push(
      authenticateWith(options.authenticate, { afresh: true }),
      requireRight(access, perNamespace),
    );
  return [...handlers, createHandler(operation, options)];
}

/** Rejects a request that does not accept JSON (specification 4.3), nor the alternative if there is one. */
function requireJsonAccepted(orEvents: boolean): Handler {
  const types = orEvents ? [jsonType, eventStreamType] : [jsonType];
  return (request, _response, next) => {
    const { accept } = request.headers;
    if (accept !== undefined && accept !== "*/*" && request.accepts(types) === false) {
      throw new HttpError("NOT_ACCEPTABLE", "The response is JSON, which the Accept header excludes.", {
        detail: `Send "Accept: ${types.join('" or "')}".`,
      });
    }
    next();
  };
}

/** Creates the handler that runs an operation and sends its reply. */
function createHandler(
  operation: Operation,
  { services, authenticate, audit, recordRefusal, streams }: RouterOptions,
): Handler {
  /**
   * Whether the caller of an event stream may still see it, with the same roles: these decide what is shown.
   */
  async function isStillAllowed(request: IncomingMessage, locals: RequestContext): Promise<boolean> {
    if (locals.caller === undefined) return true;
    const { name, roles } = locals.caller.user;
    try {
      const { user } = await authenticate(request, locals);
      return user.name === name && isDeepStrictEqual(user.roles, roles);
    } catch (error) {
      // The overview must show an outage of the database while it lasts.
      return error instanceof UnavailableError;
    }
  }

  const { access, replies } = operation;
  const sendsEvents = returnsEvents(replies);
  return async (request, response) => {
    const { locals } = response;
    const { requestId, address, secure, basePath, caller: { user, session } = { user: nobody } } = locals;
    const claimUser = (name: string): void => {
      locals.claimedUser = name;
      locals.credentials = "password";
    };
    const call = {
      parameters: request.params,
      query: operation.query?.read(request.query),
      body: request.body,
      user,
      namespaces: access === "anybody" || access === "user" ? "all" : getNamespaces(user, access),
      session,
      address,
      secure,
      basePath,
      requestId,
      acceptsEvents: sendsEvents && request.accepts([jsonType, eventStreamType]) === eventStreamType,
      acceptEncoding: request.headers["accept-encoding"] ?? "",
      ifMatch: request.headers["if-match"] ?? "",
      cookies: request.headers.cookie ?? "",
      claimUser,
    };
    const reply = await operation.handle(call, services);
    const { status, headers, json, text, events, failure, failedLogin, by = user } = reply;
    const origin = toOrigin(locals, by);
    if (failedLogin !== undefined)
      recordRefusal({ action: "login.failed", user: failedLogin, credentials: "openid" }, origin);
    const changes = audit.on ? reply.audit : undefined;
    locals.audited = changes !== undefined;
    const recordChanges = (): void => {
      if (changes !== undefined) audit.recordAll([changes].flat().map((event) => ({ event, origin })));
    };
    if (failure !== undefined) {
      recordChanges();
      throw failure;
    }
    if (events !== undefined) {
      locals.isEventStream = true;
      recordChanges();
      await streams.send(response, {
        events,
        user: user.name,
        canReadStatus: hasRight(user, "status.read"),
        isStillAllowed: () => isStillAllowed(request, locals),
      });
      return;
    }
    response.status(status);
    if (headers !== undefined) response.set(headers as Record<string, string | string[]>);
    if (json !== undefined) response.json(json);
    else if (text !== undefined) response.type(text.type).send(text.content);
    else response.end();
    // The caller need not wait for the audit record.
    recordChanges();
  };
}
