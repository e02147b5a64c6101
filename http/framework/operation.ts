import type { AuditEvent } from "../../src/lib/audit.ts";
import type { Session } from "../../src/sessions/session.ts";
import type { Role, User } from "../../src/users/user.ts";
import type { ValidationResult } from "../../src/lib/validation.ts";
import type { ErrorCode } from "./errors.ts";
import type { Events } from "./event-stream.ts";
import type { ReplyHeaders } from "./headers.ts";

/** Who may call an operation: anybody, every active user, or the users with a role. */
export type Access = "anybody" | "user" | Role;

/** A request, once everything is checked that can be checked without doing anything. */
export interface Call<Body = unknown> {
  /** Of the path, percent-decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Undefined for an operation without a body. */
  readonly body: Body;
  /** Nobody, without a name or a role, where anybody may call. */
  readonly user: User;
  /** The session that the caller came with; undefined for one with credentials. */
  readonly session: Session | undefined;
  /** The caller's network address. */
  readonly address: string;
  /** Whether the caller uses TLS, to us or to what stands before us. */
  readonly secure: boolean;
  readonly requestId: string;
  /** `Accept-Encoding`, as it was sent. */
  readonly acceptEncoding: string;
  /** `Cookie`, as it was sent. */
  readonly cookies: string;
}

/** What is answered. */
export interface Reply {
  readonly status: number;
  /** Sent as JSON. Without it and without `text` the answer has no body. */
  readonly json?: unknown;
  readonly text?: { readonly type: string; readonly content: string | Buffer };
  /** Sent one by one as they come, instead of `json` or `text`. */
  readonly events?: Events;
  /** Several of one name are a list: cookies. */
  readonly headers?: ReplyHeaders;
  /** What was changed, for the audit; who did it and from where is added to it. */
  readonly audit?: AuditEvent | readonly AuditEvent[];
  /** Who did it, where that is not who called. */
  readonly by?: User;
}

/** A JSON body: its schema for people, and its check. */
export interface BodyRules<Body> {
  readonly schema: object;
  readonly check: (value: unknown) => ValidationResult<Body>;
  /** How a body that is not JSON is answered: the push operations say 400 (specification 4.1), the others 415. */
  readonly wrongTypeStatus: 400 | 415;
}

/** A query parameter, for people. */
export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

/** A successful answer, for people. */
export interface ReplyDescription {
  readonly description: string;
  /** Of the JSON body; absent where there is no body. */
  readonly schema?: object;
  /** Where the body is no JSON. */
  readonly mediaType?: string;
}

/** An operation of the HTTP facade: how it is called, by whom, what it does, and what its documentation says of it. */
export interface Operation<Body = unknown> {
  /** The documentation's `operationId`. */
  readonly id: string;
  readonly method: "GET" | "POST";
  /** All of its paths, the one to use first, with parameters in braces: `/push/{application}/installation`. */
  readonly paths: readonly string[];
  readonly access: Access;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly body?: BodyRules<Body>;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: readonly QueryParameter[];
  /** Successful answers by status. */
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /** Codes of the errors that only this operation knows; see failures.ts for those that follow from the rest. */
  readonly refusals?: readonly ErrorCode[];
  /** Throws RefusalError, HttpError, OverloadedError and UnavailableError. */
  handle(call: Call<Body>): Reply | Promise<Reply>;
}

/** Lets operations with different bodies stand in one list: whoever calls one has checked the body by its own rules. */
export const operation = <Body = undefined>(one: Operation<Body>): Operation => one;

/** Versions of every operation; both behave alike today, and without a version the latest is meant (specification 9). */
const versions = ["v1", "v2"] as const;

/** The paths of an operation: without a version, and with each. */
export const versioned = (prefix: string, rest: string): string[] => [
  `${prefix}${rest}`,
  ...versions.map((version) => `${prefix}/${version}${rest}`),
];
