/** One thing that is wrong, and where: `path` is a JSON Pointer (RFC 6901), "" for the whole. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** Why something was refused. The same codes stand in HTTP error bodies and on dead letters. */
export const refusalCodes = [
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
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

/** What was asked for cannot be done, for a reason that lies in the request or the announcement itself. */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
  readonly code: RefusalCode;
  readonly details: readonly Fault[];

  constructor(code: RefusalCode, message: string, details: readonly Fault[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** A service that we need (the database, the broker) does not answer; the same request may succeed later. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}

/** The broker does not answer. */
export class KafkaUnavailableError extends UnavailableError {}

/** The store aborted a transaction in favour of another. Repeated at once, it may succeed. */
export class TransactionConflictError extends UnavailableError {}

/** What was asked for is not loaded yet; the same request may succeed in a moment. */
export class NotLoadedError extends UnavailableError {}

/** More is waiting than may wait; the same request may succeed in a moment. */
export class OverloadedError extends Error {
  override readonly name = "OverloadedError";
}

/** A record with this unique name exists already. */
export class NameTakenError extends Error {
  override readonly name = "NameTakenError";
}

/** Too many logins failed lately to try this one; it may be tried again after so many seconds. */
export class TooManyAttemptsError extends Error {
  override readonly name = "TooManyAttemptsError";
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The program cannot start as it is set up: exit code 78. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

/** What is in the database contradicts what the program relies on: exit code 65. */
export class DatabaseConflictError extends Error {
  override readonly name = "DatabaseConflictError";
}

/** Exit codes of the command line, after sysexits.h where it has one. */
export const exitCodes = {
  ok: 0,
  /** An unexpected failure; the log says what. */
  failure: 1,
  /** Some of what was given was refused; the output says which and why. */
  refused: 3,
  /** Wrong use of the command line. */
  usage: 64,
  /** The database's data or indexes conflict with what topicsync needs. */
  databaseConflict: 65,
  /** Neither a broker nor a store could be had. */
  unavailable: 69,
  /** The consumer died; start again. */
  consumerDied: 70,
  /** Settings are missing or wrong. */
  configuration: 78,
} as const;

/** Faults as sentences, each beginning with its path, or with `whole` for a fault of the whole. */
export const toSentence = (faults: readonly Fault[], whole: string): string =>
  faults
    .map(({ path, message }) => `${path === "" ? whole : path} ${message}`)
    .map((text) => (text.endsWith("?") ? text : `${text}.`))
    .join(" ");

/** The message of whatever was thrown, without push tokens. */
export const getErrorMessage = (error: unknown): string =>
  redactTokens(error instanceof Error ? error.message : String(error));

/** MongoDB tells the key that is there twice: `dup key: { token: "…", application: "…" }`. */
export const redactTokens = (text: string): string =>
  text.replaceAll(/(\btoken: )"(?:[^"\\]|\\.)*"/g, '$1"[redacted]"');
