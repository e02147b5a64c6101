import { Router, type Request, type RequestHandler, type Response } from "express";

import type { Audit } from "../src/audit.ts";
import { Refusal } from "../src/errors.ts";
import type { User } from "../src/users/user.ts";
import type { AddressOf } from "./address.ts";
import type { Authentication } from "./authentication.ts";
import { checkBodyHeaders, readJson } from "./body.ts";
import { HttpError, methodNotAllowed } from "./errors.ts";
import { answersJson } from "./failures.ts";
import type { BodyRules, Operation, Reply } from "./operation.ts";
import { leaveToAudit } from "./request-log.ts";
import { expectsContinue, isUnread } from "./unread.ts";

/** What every operation is served with. */
export interface Edge {
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly addressOf: AddressOf;
}

/** What one request is allowed and asked for, in the only order in which it is checked. */
export function serve(operations: readonly Operation[], edge: Edge): Router {
  const router = Router({ caseSensitive: true });
  const methods = new Map<string, string[]>();
  for (const one of operations) {
    const paths = one.paths.map(expressPath);
    router[one.method === "GET" ? "get" : "post"](paths, handlerOf(one, edge));
    for (const path of paths) methods.set(path, [...(methods.get(path) ?? []), ...allowed[one.method]]);
  }
  for (const [path, allow] of methods) router.all(path, methodNotAllowed(allow.join(", ")));
  return router;
}

/** Express answers HEAD by itself where there is GET. */
const allowed = { GET: ["GET", "HEAD"], POST: ["POST"] } as const;

/** `/push/{application}` in Express's spelling: `/push/:application`. */
const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

const nobody: User = Object.freeze({ name: "", roles: [], active: false });

function handlerOf(operation: Operation, { authentication, audit, addressOf }: Edge): RequestHandler {
  const { access, body: rules, replies } = operation;
  const needsJsonAccepted = answersJson(replies);

  return async (request, response) => {
    const address = addressOf(request);
    const user = access === "anybody" ? nobody : await authentication.authenticate(request, address);
    if (access !== "anybody" && access !== "user") requireRole(user, access);
    if (needsJsonAccepted) requireJsonAccepted(request);
    const requestId = response.getHeader("X-Request-Id") as string;
    const reply = await operation.handle({
      parameters: request.params as Readonly<Record<string, string>>,
      query: request.query,
      body: rules === undefined ? undefined : await bodyOf(request, response, rules),
      user,
      address,
      requestId,
    });
    if (reply.audit !== undefined && audit.on) {
      audit.record(reply.audit, { via: "http", by: user.name, from: address, requestId });
      leaveToAudit(response);
    }
    // A body that the operation does not know is not read.
    if (rules === undefined && isUnread(request)) response.setHeader("Connection", "close");
    send(response, reply);
  };
}

/** The only place where a role is asked for. */
function requireRole(user: User, role: string): void {
  if (user.roles.includes(role)) return;
  throw new HttpError("FORBIDDEN", `The user "${user.name}" may not do this.`, {
    detail: `It needs the role ${role}.`,
  });
}

/** Refuses a request whose answer could not be JSON (specification 4.3: only application/json is supported). */
function requireJsonAccepted(request: Request): void {
  const { accept } = request.headers;
  if (accept === undefined || accept === "*/*" || request.accepts("application/json") !== false) return;
  throw new HttpError("NOT_ACCEPTABLE", "The answer would be JSON, which the Accept header rules out.", {
    detail: 'Send "Accept: application/json".',
  });
}

/** The body, checked. Throws an HttpError, or a Refusal with every fault. */
async function bodyOf<Body>(
  request: Request,
  response: Response,
  { check, wrongTypeStatus }: BodyRules<Body>,
): Promise<Body> {
  checkBodyHeaders(request.headers, wrongTypeStatus);
  // Whoever waits for it before sending the body gets it only now, with credentials and headers checked.
  if (expectsContinue(request)) response.writeContinue();
  const checked = check((await readJson(request)) ?? null);
  if (checked.ok) return checked.value;
  throw new Refusal("SCHEMA_VIOLATION", "The body is not what this operation takes.", checked.faults);
}

function send(response: Response, { status, json, text, headers = {} }: Reply): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (json !== undefined) response.json(json);
  else if (text !== undefined) response.type(text.type).send(text.content);
  else response.end();
}
