import accepts from "accepts";
import express, { type ErrorRequestHandler, type RequestHandler } from "express";
import { LRUCache } from "lru-cache";
import { parse as parseQuery } from "node:querystring";
import { isDeepStrictEqual } from "node:util";

import type { Audit } from "../../src/lib/audit.ts";
import { RefusalError, UnavailableError } from "../../src/lib/errors.ts";
import type { User } from "../../src/users/user.ts";
import type { AddressOf, IsSecure } from "./address.ts";
import { jsonType, type Send } from "./answer.ts";
import type { Authentication, Caller } from "./auth.ts";
import { checkBodyHeaders, readJson } from "./body.ts";
import { HttpError, methodNotAllowed, notFound } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import type { Fail } from "./error-response.ts";
import { answersJson } from "./failures.ts";
import type { BodyRules, Operation } from "./operation.ts";
import { expectsContinue } from "./unread.ts";

/** What every operation is served with. */
export interface Edge {
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly addressOf: AddressOf;
  readonly isSecure: IsSecure;
  readonly send: Send;
  readonly fail: Fail;
}

/** Answers a request, sooner or later. Never throws. */
export type Serve = (exchange: Exchange) => void;

/** An operation that is served, and what the path says for it. */
interface Route {
  readonly operation: Operation;
  readonly perform: Perform;
  /** The template of the path. */
  readonly template: string;
  readonly parameters: Readonly<Record<string, string>>;
}

type Perform = (exchange: Exchange, parameters: Route["parameters"]) => Promise<void>;

/** Routes beyond these are found anew each time, and so are those of longer URLs. */
const maxRemembered = 1_000;
const maxRememberedLength = 256;

/**
 * Serves operations. Express finds which one a request means, and says what it is when it means none; a route that was found
 * is remembered by its method and URL, since the same few are asked for thousands of times a second.
 */
export function serve(operations: readonly Operation[], edge: Edge): Serve {
  const routes = new LRUCache<string, Route>({ max: maxRemembered });
  const app = express();
  app.disable("x-powered-by");
  app.enable("case sensitive routing");

  const answer = (exchange: Exchange, { operation, perform, template, parameters }: Route): void => {
    exchange.route = template;
    exchange.operation = operation.id;
    void perform(exchange, parameters);
  };
  const handlerOf = (operation: Operation, perform: Perform, template: string): RequestHandler => {
    return ({ method, url, params }, { locals }) => {
      const route = { operation, perform, template, parameters: params as Route["parameters"] };
      if (url.length <= maxRememberedLength) routes.set(`${method} ${url}`, route);
      answer((locals as Locals).exchange, route);
    };
  };
  const methods = new Map<string, string[]>();
  for (const one of operations) {
    const perform = performing(one, edge);
    for (const template of one.paths) {
      const path = expressPath(template);
      app[one.method === "GET" ? "get" : "post"](path, handlerOf(one, perform, template));
      methods.set(path, [...(methods.get(path) ?? []), ...allowed[one.method]]);
    }
  }
  for (const [path, allow] of methods) app.all(path, methodNotAllowed(allow.join(", ")));
  app.use(notFound);
  app.use(failing(edge.fail));

  return (exchange) => {
    const { request, response } = exchange;
    const known = routes.get(`${request.method ?? ""} ${request.url ?? ""}`);
    if (known !== undefined) {
      answer(exchange, known);
      return;
    }
    const found = Object.assign(response, { locals: { exchange } satisfies Locals });
    app(request, found);
  };
}

/** What Express carries from here to the handler that it finds. */
interface Locals {
  readonly exchange: Exchange;
}

/** Express knows what is for errors by its four parameters. */
const failing =
  (fail: Fail): ErrorRequestHandler =>
  (error: unknown, _request, response, next) => {
    if (response.headersSent) next(error);
    else fail((response.locals as Locals).exchange, error);
  };

/** Express answers HEAD by itself where there is GET. */
const allowed = { GET: ["GET", "HEAD"], POST: ["POST"] } as const;

/** `/push/{application}` in Express's spelling: `/push/:application`. */
const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

const nobody: Caller = { user: Object.freeze({ name: "", roles: [], active: false }) };

/** What one request is allowed and asked for, in the only order in which it is checked. */
function performing(operation: Operation, edge: Edge): Perform {
  const { authentication, audit, addressOf, isSecure, send, fail } = edge;
  const { access, body: rules, replies } = operation;
  const needsJsonAccepted = answersJson(replies);

  async function perform(exchange: Exchange, parameters: Route["parameters"]): Promise<void> {
    const { request, requestId } = exchange;
    const address = addressOf(request);
    // What is at hand is not waited for.
    const found = access === "anybody" ? nobody : authentication.authenticate(request, address);
    const { user, session } = found instanceof Promise ? await found : found;
    if (access !== "anybody" && access !== "user") requireRole(user, access);
    if (needsJsonAccepted) requireJsonAccepted(exchange);
    const query = queryOf(request.url ?? "");
    const given = rules === undefined ? undefined : await bodyOf(exchange, rules);
    const secure = isSecure(request);
    const acceptEncoding = request.headers["accept-encoding"] ?? "";
    const call = {
      parameters,
      query,
      body: given,
      user,
      session,
      address,
      secure,
      requestId,
      acceptEncoding,
      cookies: request.headers.cookie ?? "",
    };
    const reply = await operation.handle(call);
    const { status, json, text, events, headers, by = user } = reply;
    const changes = audit.on ? reply.audit : undefined;
    const body = json === undefined ? text : { type: jsonType, content: JSON.stringify(json) };
    const watched = events && { events, user: user.name, mayGoOn: () => mayGoOn(exchange, user) };
    send(exchange, { status, body, watched, headers, audited: changes !== undefined });
    if (changes === undefined) return;
    // The caller need not wait for it.
    const origin = { via: "http", by: by.name, from: address, requestId } as const;
    if ("action" in changes) audit.record(changes, origin);
    else for (const one of changes) audit.record(one, origin);
  }

  /** Whether a caller whose request is still being answered may call, and with the same roles: these decide what is shown. */
  async function mayGoOn({ request }: Exchange, { name, roles }: User): Promise<boolean> {
    if (access === "anybody") return true;
    try {
      const { user } = await authentication.authenticate(request, addressOf(request));
      return user.name === name && isDeepStrictEqual(user.roles, roles);
    } catch (error) {
      // The overview has to show an outage of the database while it lasts.
      return error instanceof UnavailableError;
    }
  }

  return (exchange, parameters) =>
    perform(exchange, parameters).catch((error: unknown) => {
      fail(exchange, error);
    });
}

const noQuery: Readonly<Record<string, unknown>> = Object.freeze({});

function queryOf(url: string): Readonly<Record<string, unknown>> {
  const at = url.indexOf("?");
  return at === -1 ? noQuery : parseQuery(url.slice(at + 1));
}

/** The only place where a role is asked for. */
function requireRole(user: User, role: string): void {
  if (user.roles.includes(role)) return;
  throw new HttpError("FORBIDDEN", `The user "${user.name}" may not do this.`, {
    detail: `It needs the role ${role}.`,
  });
}

/** Refuses a request whose answer could not be JSON (specification 4.3: only application/json is supported). */
function requireJsonAccepted({ request }: Exchange): void {
  const { accept } = request.headers;
  if (accept === undefined || accept === "*/*") return;
  if (accepts(request).type("application/json") !== false) return;
  throw new HttpError("NOT_ACCEPTABLE", "The answer would be JSON, which the Accept header rules out.", {
    detail: 'Send "Accept: application/json".',
  });
}

/** The body, checked. Throws an HttpError, or a RefusalError with every fault. */
async function bodyOf<Body>(
  { request, response }: Exchange,
  { check, wrongTypeStatus }: BodyRules<Body>,
): Promise<Body> {
  checkBodyHeaders(request.headers, wrongTypeStatus);
  // Whoever waits for it before sending the body gets it only now, with credentials and headers checked.
  if (expectsContinue(request)) response.writeContinue();
  const checked = check((await readJson(request)) ?? null);
  if (checked.ok) return checked.value;
  throw new RefusalError("SCHEMA_VIOLATION", "The body is not what this operation takes.", checked.faults);
}
