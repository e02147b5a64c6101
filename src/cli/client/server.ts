import { ConfigurationError, getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import { returnsJson, type Operation } from "../../operations/framework/operation.ts";
import { toEtag } from "../../operations/framework/if-match.ts";
import { findAuthorization } from "../input/server.ts";
import {
  toTexts,
  type OperationClient,
  type OperationRequest,
  type OperationResult,
} from "./operation-client.ts";
import { toRequestError } from "./request-error.ts";

const requestTimeoutMs = 60_000;

/** Calls the operations of a running service. Throws a ConfigurationError without credentials. */
export function createServerClient(
  server: string,
  environment: Readonly<Record<string, string | undefined>>,
  abort: AbortSignal,
): OperationClient {
  const root = readRoot(server);
  const authorization = findAuthorization(environment);
  if (authorization === undefined)
    throw new ConfigurationError(
      "a service as the server needs TOPICSYNC_USER and TOPICSYNC_PASSWORD, or TOPICSYNC_TOKEN.",
    );
  if (!/^[ -~]+$/.test(authorization))
    throw new ConfigurationError("TOPICSYNC_TOKEN has characters that no key or token has.");
  async function call(
    { method, paths: [path = ""], replies }: Operation,
    request: OperationRequest = {},
  ): Promise<OperationResult<unknown>> {
    const { body, ifMatch } = request;
    const response = await fetch(root + fillPath(path, request), {
      method,
      headers: {
        authorization,
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(ifMatch !== undefined && { "if-match": ifMatch === "*" ? "*" : toEtag(ifMatch) }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.any([abort, AbortSignal.timeout(requestTimeoutMs)]),
    }).catch((error: unknown) => {
      throw new UnavailableError(`${server} did not respond: ${describeCause(error)}`, { cause: error });
    });
    const json: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw toRequestError(readError(response.status, json, server));
    if (returnsJson(replies) && (typeof json !== "object" || json === null))
      throw new Error(`${server} did not respond with JSON: is it topicsync?`);
    // A header that is sent several times is joined by commas.
    const warnings = response.headers.get("topicsync-warning");
    return { json, warnings: warnings === null ? [] : [warnings] };
  }
  return { abort, call: call as OperationClient["call"] };
}

/** Throws a ConfigurationError. */
function readRoot(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.username !== "")
    throw new ConfigurationError(
      "the server (--server, TOPICSYNC_SERVER) is an address such as https://topicsync.example.com, without credentials.",
    );
  return server.replace(/\/+$/, "");
}

/** Throws an error for a name that would become another path. */
function fillPath(template: string, { parameters = {}, query = {} }: OperationRequest): string {
  const path = template.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = parameters[name] ?? "";
    if (!/^\.{0,2}$/.test(value) && value.isWellFormed()) return encodeURIComponent(value);
    throw new Error(`"${value}" cannot be part of a URL: run the command without a server`);
  });
  const given = new URLSearchParams(toTexts(query));
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

/** fetch puts the reason into the cause. */
const describeCause = (error: unknown): string =>
  getErrorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error);

/** A proxy in front of the service sends other bodies. */
function readError(status: number, json: unknown, server: string) {
  const { error } = (json ?? {}) as { readonly error?: Readonly<Record<string, unknown>> | null };
  const read = (member: string): string | undefined =>
    typeof error?.[member] === "string" ? error[member] : undefined;
  return {
    status,
    code: read("code") ?? "",
    message: read("message") ?? `${server} responded with the status ${status}.`,
    detail: read("detail") ?? "",
  };
}
