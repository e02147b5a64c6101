import { NameTakenError, type Fault, type RejectionCode } from "@topicsync/lib/errors";
import {
  findRoleWith,
  hasRightSomewhere,
  includesNamespace,
  type Namespaces,
  type Right,
} from "../../users/rights.ts";
import type { User } from "../../users/user.ts";

/** The codes of error bodies by their status (contract, section 3), and what each means. */
const meaningsByStatus = {
  400: {
    BAD_REQUEST: "the request is malformed, or its body could not be read",
    MALFORMED_JSON:
      "the body is not valid JSON in UTF-8, contains a duplicate member, or is nested too deeply",
    SCHEMA_VIOLATION: "the body or query violates the schema; `details` lists every problem",
    BAD_FILTER: "a filter is invalid; `details` gives the position",
    TOO_LARGE: "the record is too large",
    UNDECODABLE: "the record cannot be decoded",
    MISSING_KEY: "the announcement has no key",
    KEY_MISMATCH: "the announcement's key differs from its external id",
    EXTERNAL_ID_TAKEN: "the external id belongs to a topic from another source",
    DUPLICATE_EXTERNAL_ID: "another topic has the external id",
    DUPLICATE_COMBINATION: "another topic has the same name, namespace and filters",
    UNKNOWN_APPLICATION: "no active push application has that name",
    UNKNOWN_PLATFORM: "no active push platform has that name",
    BAD_TOKEN: "the token is not valid for this platform",
    BAD_EGRESS_NAME: "no Kafka topic can have the name of the topic's egress topic",
    NO_EGRESS_TOPIC: "the topic's egress topic does not exist",
    EGRESS_REJECTED: "the topic's egress topic does not accept the event",
    TOO_MANY_TOPICS: "the event belongs to more topics than one event is forwarded to",
    UNEXPECTED_ERROR: "the event cannot be forwarded for a reason that is not foreseen; the message has it",
  },
  401: { UNAUTHENTICATED: "credentials are missing or wrong, the user is disabled, or the key has expired" },
  403: {
    FORBIDDEN:
      "the caller lacks the required right, which `detail` names, or the request comes from a page of another site",
  },
  404: { NOT_FOUND: "the resource does not exist" },
  405: { METHOD_NOT_ALLOWED: "the path does not support the method; `Allow` lists those it supports" },
  406: { NOT_ACCEPTABLE: "the `Accept` header excludes the media type of the response" },
  408: { REQUEST_TIMEOUT: "the request was not received in time" },
  409: {
    NAME_TAKEN: "the name is already in use",
    MANAGED_BY_SET: "the topic belongs to a set, which is changed by its files",
    SET_ORIGIN_MISMATCH: "the set is applied from another repository",
    BACKFILL_RUNNING: "a backfill of the topic is waiting or running",
  },
  412: {
    VERSION_CONFLICT:
      "the version or definition is not the one that the caller has read, or `If-Match` is an entity tag that no version has",
  },
  413: { BODY_TOO_LARGE: "the body exceeds 100 KiB, 1 MiB for `changeTopics`, or 4 KiB for `signIn`" },
  414: { URI_TOO_LONG: "the URL is too long" },
  415: {
    UNSUPPORTED_MEDIA_TYPE:
      "the body is not `application/json` in UTF-8, uncompressed or compressed with gzip, deflate or br",
  },
  417: { EXPECTATION_FAILED: "the `Expect` header is not `100-continue`" },
  428: { VERSION_REQUIRED: "the `If-Match` header with the version that is to be changed is missing" },
  429: { TOO_MANY_ATTEMPTS: "too many failed logins for this user or from this address" },
  431: { HEADERS_TOO_LARGE: "the request has too many headers, or they are too large" },
  500: { INTERNAL: "unexpected failure; the service's log has the cause under the request id" },
  503: {
    OVERLOADED: "the service is overloaded; nothing was stored",
    UNAVAILABLE:
      "the database or Kafka is unavailable, so a write may or may not have been stored; or data is still being loaded",
  },
} as const;

type CodesOf<Meanings> = Meanings extends unknown ? keyof Meanings : never;

/** Every code of an error body. */
export type ErrorCode = CodesOf<(typeof meaningsByStatus)[keyof typeof meaningsByStatus]>;

/** Codes of errors that arise in HTTP itself rather than in the domain. */
type HttpCode = Exclude<ErrorCode, RejectionCode>;

export const meanings = Object.assign({}, ...Object.values(meaningsByStatus)) as Readonly<
  Record<ErrorCode, string>
>;

export const statuses = Object.fromEntries(
  Object.entries(meaningsByStatus).flatMap(([status, codes]) =>
    Object.keys(codes).map((code) => [code, Number(status)]),
  ),
) as Readonly<Record<ErrorCode, number>>;

/** An error that arises in HTTP itself, and the headers of its response. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: HttpCode | "MALFORMED_JSON";
  readonly detail: string;
  readonly details: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  /** Overrides the code's status: the push operations return 400 instead of 415 (specification 4.1). */
  readonly status: number | undefined;

  constructor(
    code: HttpError["code"],
    message: string,
    more: {
      readonly detail?: string;
      readonly details?: readonly Fault[];
      readonly headers?: Readonly<Record<string, string>>;
      readonly status?: number;
      /** Logged, never sent. */
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.detail = more.detail ?? "";
    this.details = more.details ?? [];
    this.headers = more.headers ?? {};
    this.status = more.status;
  }
}

/** The error for what needs a router, where none is configured. */
export const createNoEventsError = (message: string): HttpError =>
  new HttpError("NOT_FOUND", message, {
    detail: "The setting KAFKA_EVENTS_TOPIC names the Kafka topic with the events.",
  });

/** The error for a user who lacks a right, or has it in other namespaces only. */
export function createForbiddenError(user: User, right: Right, namespace?: string): HttpError {
  const where =
    namespace !== undefined
      ? ` in the namespace "${namespace}"`
      : hasRightSomewhere(user, right)
        ? " without a limit to namespaces"
        : "";
  return new HttpError("FORBIDDEN", `The user "${user.name}" is not allowed to do this.`, {
    detail: [
      `The right ${right} is required${where}. The role ${findRoleWith(right)} has it.`,
      ...(user.rolesFault === undefined ? [] : [user.rolesFault]),
    ].join(" "),
  });
}

/** Throws an HttpError unless the user has the right in this namespace. */
export function requireNamespace(
  { user, namespaces }: { readonly user: User; readonly namespaces: Namespaces },
  right: Right,
  namespace: string,
): void {
  if (!includesNamespace(namespaces, namespace)) throw createForbiddenError(user, right, namespace);
}

/** Returns what was found by the name in a path. Throws an HttpError when nothing was. */
export function requireFound<T>(found: T | undefined, kind: string, name: string): T {
  if (found !== undefined) return found;
  throw new HttpError("NOT_FOUND", `There is no ${kind} named "${name}".`);
}

/** Returns what was added. Throws an HttpError when the name is taken. */
export async function requireFreeName<T>(adding: Promise<T>, name: string): Promise<T> {
  try {
    return await adding;
  } catch (error) {
    if (!(error instanceof NameTakenError)) throw error;
    throw new HttpError("NAME_TAKEN", `The name "${name}" is already in use.`, {
      detail: "Choose another name, or enable the disabled one.",
    });
  }
}
