/** An invalid member: `path` is a JSON Pointer (RFC 6901), "" for the whole document. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** The reasons for rejecting input, used in HTTP error bodies and on dead letters. */
export const rejectionCodes = [
  "MALFORMED_JSON",
  "SCHEMA_VIOLATION",
  "BAD_FILTER",
  "TOO_LARGE",
  "UNDECODABLE",
  "MISSING_KEY",
  "KEY_MISMATCH",
  "EXTERNAL_ID_TAKEN",
  "DUPLICATE_EXTERNAL_ID",
  "DUPLICATE_COMBINATION",
  "UNKNOWN_APPLICATION",
  "UNKNOWN_PLATFORM",
  "BAD_TOKEN",
  "BAD_EGRESS_NAME",
  "NO_EGRESS_TOPIC",
  "EGRESS_REJECTED",
  "TOO_MANY_TOPICS",
  "MANAGED_BY_SET",
  "SET_ORIGIN_MISMATCH",
  "UNEXPECTED_ERROR",
] as const;

export type RejectionCode = (typeof rejectionCodes)[number];

/** The request or announcement is invalid; repeating it will not help. */
export class RejectionError extends Error {
  override readonly name = "RejectionError";
  readonly code: RejectionCode;
  readonly details: readonly Fault[];

  constructor(code: RejectionCode, message: string, details: readonly Fault[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** A plan cannot be made or applied; nothing was changed. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

/** The database or the broker does not respond; the same request may succeed later. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}

/** The broker does not respond. */
export class KafkaUnavailableError extends UnavailableError {}

/** The store aborted a transaction because of a conflict; an immediate retry may succeed. */
export class TransactionConflictError extends UnavailableError {}

/** Data is still being loaded; the same request may succeed in a moment. */
export class NotLoadedError extends UnavailableError {}

/** A queue is full; the same request may succeed in a moment. */
export class OverloadedError extends Error {
  override readonly name = "OverloadedError";
}

/** A record with this unique name exists already. */
export class NameTakenError extends Error {
  override readonly name = "NameTakenError";
}

/** Too many recent failed logins. */
export class TooManyAttemptsError extends Error {
  override readonly name = "TooManyAttemptsError";
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The settings are invalid: exit code 78. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** The database contains conflicting data or indexes: exit code 65. */
export class DatabaseConflictError extends Error {
  override readonly name = "DatabaseConflictError";
}

/** Exit codes of the command line; from 64 on those of sysexits.h. */
export const exitCodes = {
  ok: 0,
  /** An unexpected failure, described in the log. */
  failure: 1,
  /** There are changes, or drift, and an option asks for this code then. */
  changes: 2,
  /** Some input was rejected; the output says which and why. */
  rejected: 3,
  /** Wrong usage of the command line. */
  usage: 64,
  /** The database's data or indexes conflict with what topicsync needs. */
  databaseConflict: 65,
  /** Broker or store unavailable. */
  unavailable: 69,
  /** The consumer died; restart the service. */
  consumerDied: 70,
  /** `status`: the service is not ready. */
  notReady: 75,
  /** Missing or invalid settings. */
  configuration: 78,
} as const;

/**
 * Formats faults as sentences that begin with the path, or with `document` for a fault of the whole document.
 */
export const formatFaults = (faults: readonly Fault[], document: string): string =>
  faults
    .map(({ path, message }) => `${path === "" ? document : path} ${message}`)
    .map((text) => (text.endsWith("?") ? text : `${text}.`))
    .join(" ");

/** The message of a thrown value, without push tokens and API keys. */
export const getErrorMessage = (error: unknown): string =>
  redactTokens(error instanceof Error ? error.message : String(error));

/** MongoDB's message of a duplicate key contains its values: `dup key: { token: "…", application: "…" }`. */
export const redactTokens = (text: string): string =>
  text
    .replaceAll(/(\btoken: )"(?:[^"\\]|\\.)*"/g, '$1"[redacted]"')
    .replaceAll(/\btsk_[\w-]{20,}/g, "[redacted]");
