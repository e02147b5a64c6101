import { NameTakenError, type Fault, type RejectionCode } from "@topicsync/lib/errors";
import {
  findRoleWith,
  hasRightSomewhere,
  includesNamespace,
  type Namespaces,
  type Right,
} from "../../users/rights.ts";
import type { User } from "../../users/user.ts";

/** Codes of errors that arise in HTTP itself rather than in the domain. */
type HttpCode =
  | "BAD_REQUEST"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "NAME_TAKEN"
  | "METHOD_NOT_ALLOWED"
  | "NOT_ACCEPTABLE"
  | "REQUEST_TIMEOUT"
  | "VERSION_CONFLICT"
  | "BODY_TOO_LARGE"
  | "URI_TOO_LONG"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "EXPECTATION_FAILED"
  | "VERSION_REQUIRED"
  | "TOO_MANY_ATTEMPTS"
  | "HEADERS_TOO_LARGE"
  | "INTERNAL"
  | "OVERLOADED"
  | "UNAVAILABLE";

/** Every code of an error body. */
export type ErrorCode = HttpCode | RejectionCode;

/** The only table from codes to statuses (contract, section 3). */
export const statuses: Readonly<Record<ErrorCode, number>> = {
  BAD_REQUEST: 400,
  MALFORMED_JSON: 400,
  SCHEMA_VIOLATION: 400,
  BAD_FILTER: 400,
  TOO_LARGE: 400,
  UNDECODABLE: 400,
  MISSING_KEY: 400,
  KEY_MISMATCH: 400,
  EXTERNAL_ID_TAKEN: 400,
  DUPLICATE_EXTERNAL_ID: 400,
  DUPLICATE_COMBINATION: 400,
  UNKNOWN_APPLICATION: 400,
  UNKNOWN_PLATFORM: 400,
  BAD_TOKEN: 400,
  BAD_EGRESS_NAME: 400,
  NO_EGRESS_TOPIC: 400,
  EGRESS_REJECTED: 400,
  TOO_MANY_TOPICS: 400,
  UNEXPECTED_ERROR: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  REQUEST_TIMEOUT: 408,
  NAME_TAKEN: 409,
  VERSION_CONFLICT: 412,
  MANAGED_BY_SET: 409,
  SET_ORIGIN_MISMATCH: 409,
  BODY_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EXPECTATION_FAILED: 417,
  VERSION_REQUIRED: 428,
  TOO_MANY_ATTEMPTS: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
};

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
