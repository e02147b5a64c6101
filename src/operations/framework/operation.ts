import type { AuditEvent } from "@topicsync/lib/audit/audit";
import type { ValidationResult } from "@topicsync/lib/validation";
import type { Session } from "../../users/session.ts";
import type { Namespaces, Right } from "../../users/rights.ts";
import type { User } from "../../users/user.ts";
import type { ErrorCode } from "./errors.ts";
import type { OperationServices } from "./services.ts";

/** Who may call an operation: anybody, every active user, or users with a right. */
export type Access = "anybody" | "user" | Right;

/** Names and values of headers; a list for a header that is sent several times. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Produces events until `abort` is aborted: the client left, or the service stops. */
export type Events = (abort: AbortSignal) => AsyncIterable<unknown>;

/** A request after authentication and validation. */
export interface Call<Body = unknown, Query = unknown> {
  /** Path parameters, percent-decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Undefined for an operation without query parameters. */
  readonly query: Query;
  /** Undefined for an operation without a body. */
  readonly body: Body;
  /** A user without a name and roles where anybody may call. */
  readonly user: User;
  /** Where the caller has the right that the operation requires; "all" unless it is `perNamespace`. */
  readonly namespaces: Namespaces;
  /** Undefined for a caller with credentials. */
  readonly session: Session | undefined;
  /** The client's network address. */
  readonly address: string;
  /** Whether the client uses TLS, to this server or to a proxy in front of it. */
  readonly secure: boolean;
  /** The path below which browsers see the service, such as `/topicsync`; "" for none. */
  readonly basePath: string;
  readonly requestId: string;
  /** Whether the client prefers server-sent events to JSON. */
  readonly acceptsEvents: boolean;
  /** The `Accept-Encoding` header. */
  readonly acceptEncoding: string;
  /** The `If-Match` header; "" if there is none. */
  readonly ifMatch: string;
  /** The `Cookie` header. */
  readonly cookies: string;
  /** Names the user of a login with a password that may fail, for log and audit. */
  readonly claimUser: (name: string) => void;
}

/**
 * The response of an operation. At most one of `json`, `text` and `events` is set; with none it has no body.
 */
export interface Reply {
  readonly status: number;
  readonly json?: unknown;
  readonly text?: { readonly type: string; readonly content: string | Buffer };
  /** Sent one by one, as server-sent events. */
  readonly events?: Events;
  readonly headers?: ReplyHeaders;
  /** What was changed. The caller's name and address are added to it. */
  readonly audit?: AuditEvent | readonly AuditEvent[] | undefined;
  /** Who changed it, if not the caller. */
  readonly by?: User;
  /** How a login failed, although the response is not an error. */
  readonly failedLogin?: string;
  /** Thrown after `audit` is recorded: the operation failed in the middle. */
  readonly failure?: Error | undefined;
}

/** A JSON body. */
export interface BodyRules<Body> {
  /** Documents the body. */
  readonly schema: object;
  /** Reads the text instead of `parseStrictJson`. May throw a RejectionError. */
  readonly parse?: (text: string) => unknown;
  readonly check: (value: unknown) => ValidationResult<Body>;
  /**
   * Status for a body that is not JSON: 400 for the push operations (specification 4.1), 415 for all others.
   */
  readonly wrongTypeStatus: 400 | 415;
  /** Maximum size in bytes; 100 KiB by default. */
  readonly maxBytes?: number;
}

export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

/** The query parameters of an operation. */
export interface QueryRules<Query> {
  readonly parameters: readonly QueryParameter[];
  /** Returns the query with its defaults. Throws a RejectionError. */
  readonly read: (texts: Readonly<Record<string, unknown>>) => Query;
}

/** Documents a successful response. */
export interface ReplyDescription {
  readonly description: string;
  /** Schema of a JSON body. */
  readonly schema?: object;
  /** Type of any other body; besides `schema`, the client chooses one of the two. */
  readonly mediaType?: string;
  /** Whether the response has an `ETag`. */
  readonly hasEtag?: true;
  /** Whether the response may have a `Topicsync-Warning`. */
  readonly hasWarnings?: true;
}

/** An operation of the HTTP API: the source of its routes, checks and documentation. */
export interface Operation<Body = unknown, Query = unknown> {
  /** The OpenAPI `operationId`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /**
   * All of its paths, the preferred one first, with parameters in braces: `/push/{application}/installation`.
   */
  readonly paths: readonly string[];
  readonly access: Access;
  /**
   * Also serves callers whose right is limited to namespaces, and shows and changes nothing of others.
   * Without it, the right must be unlimited.
   */
  readonly perNamespace?: true;
  /**
   * Where anybody may call: callers who send an `Authorization` header are authenticated, and may see more.
   */
  readonly optionalLogin?: true;
  /** Limits the check of credentials: a status is due within 3 s, even if MongoDB does not respond. */
  readonly loginTimeoutMs?: number;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly body?: BodyRules<Body>;
  /** Descriptions of the path parameters. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: QueryRules<Query>;
  /** Whether the caller has to say which version is to be changed, or may, with the `If-Match` header. */
  readonly ifMatch?: "required" | "optional";
  /** Successful responses by status. */
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /**
   * Codes of errors that are specific to this operation; `listErrors` adds those that follow from the rest.
   */
  readonly rejections?: readonly ErrorCode[];
  /** Whether pages of the origins in HTTP_ALLOWED_ORIGINS may call it. */
  readonly crossOrigin?: true;
  /** Whether it returns a page, which needs further headers. */
  readonly page?: true;
  /** Throws RejectionError, HttpError, OverloadedError or UnavailableError. */
  handle(call: Call<Body, Query>, services: OperationServices): Reply | Promise<Reply>;
}

/** Erases the types of body and query; the router validates both before it calls `handle`. */
export const operation = <Body = undefined, Query = undefined>(one: Operation<Body, Query>): Operation => one;

export const jsonType = "application/json";
export const eventStreamType = "text/event-stream";

/** Whether an operation can return JSON. */
export const returnsJson = (replies: Operation["replies"]): boolean =>
  Object.values(replies).some(({ schema }) => schema !== undefined);

/** Whether it can return server-sent events instead. */
export const returnsEvents = (replies: Operation["replies"]): boolean =>
  Object.values(replies).some(({ mediaType }) => mediaType === eventStreamType);

/** All versions behave alike. A path without a version means the latest (specification 9). */
const versions = ["v1", "v2"] as const;

/** The paths of an operation: without a version, and with each. */
export const versioned = (prefix: string, rest: string): string[] => [
  `${prefix}${rest}`,
  ...versions.map((version) => `${prefix}/${version}${rest}`),
];
