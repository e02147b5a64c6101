import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

/** A request, its answer to come, and the id under which the log tells of both. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When the request's headers had come, as `performance.now()` tells. */
  readonly began: number;
  /** The template of the path, `/push/{application}/installation`, once it was found. */
  route: string | undefined;
  /** The operation's id, `createTopic`, once it was found. */
  operation: string | undefined;
}

/** Begins an exchange; its id is the caller's own where that is one. */
export function begin(request: IncomingMessage, response: ServerResponse): Exchange {
  const given = request.headers["x-request-id"];
  const requestId = typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
  const began = performance.now();
  return { request, response, requestId, began, route: undefined, operation: undefined };
}
