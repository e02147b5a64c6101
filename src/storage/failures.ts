import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoCompatibilityError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from "mongodb";

import {
  ConfigurationError,
  getErrorMessage,
  TransactionConflictError,
  UnavailableError,
} from "../lib/errors.ts";

/**
 * What an error of MongoDB means for the operation that met it:
 * - `duplicate`: a unique index objected;
 * - `conflict`: the transaction was aborted, mostly for another one; it may succeed when it is repeated;
 * - `outage`: the database cannot do it now: it is not reachable, starting, stopping, overloaded or too slow;
 * - `credentials`: it does not accept the user's name and password;
 * - `forbidden`: the user may not do this;
 * - `unsupported`: this product or version does not have it;
 * - `unforeseen`: anything else.
 */
export type FailureKind =
  "duplicate" | "conflict" | "outage" | "credentials" | "forbidden" | "unsupported" | "unforeseen";

/** Codes with one meaning wherever they come from. The outages are the driver specification's retryable errors and more. */
const kinds: readonly (readonly [FailureKind, readonly number[]])[] = [
  ["duplicate", [11000, 11001, 12582]],
  // WriteConflict and NoSuchTransaction: not every product adds the label TransientTransactionError.
  ["conflict", [112, 251]],
  [
    "outage",
    [
      6, 7, 24, 43, 50, 64, 79, 89, 91, 100, 133, 134, 189, 202, 237, 262, 290, 317, 358, 365, 384, 402, 407,
      9001, 10058, 10107, 11600, 11601, 11602, 13388, 13435, 13436, 46841,
    ],
  ],
  ["credentials", [11, 18]],
  // 8000 is Atlas' own.
  ["forbidden", [13, 8000]],
  ["unsupported", [20, 59, 115, 238, 263]],
];
const kindByCode = new Map(kinds.flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)));

const outageLabels = [
  "RetryableWriteError",
  "UnknownTransactionCommitResult",
  "SystemOverloadedError",
  "RetryableError",
];

/** The one place that decides what an error of MongoDB means. */
export function classify(error: unknown): FailureKind {
  if (error instanceof MongoBulkWriteError) return classifyBulk(error);
  if (error instanceof MongoServerError) return classifyAnswer(error);
  if (error instanceof MongoCompatibilityError) return "unsupported";
  return isWithoutAnswer(error) ? "outage" : "unforeseen";
}

function classifyAnswer(error: MongoServerError): FailureKind {
  const kind = kindByMessage(error) ?? kindByCode.get(Number(error.code));
  // DocumentDB reports a duplicate key within a transaction as a write conflict.
  if (kind === "conflict" && /duplicate key/i.test(error.message)) return "duplicate";
  if (kind === "duplicate") return kind;
  if (error.hasErrorLabel("TransientTransactionError")) return "conflict";
  if (error instanceof MongoWriteConcernError || outageLabels.some((label) => error.hasErrorLabel(label)))
    return "outage";
  return kind ?? "unforeseen";
}

/** Codes that a product uses for more than one thing, or for something else than MongoDB does. */
function kindByMessage(error: MongoServerError): FailureKind | undefined {
  if (hasNoRetryableWrites(error)) return "unsupported";
  if (error.code === 8000 && /bad auth/i.test(error.message)) return "credentials";
  if (error.code === 303) return /not supported/i.test(error.message) ? "unsupported" : "outage";
  return undefined;
}

const hasNoRetryableWrites = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === 301 && /retryable writes/i.test(error.message);

function classifyBulk(error: MongoBulkWriteError): FailureKind {
  // What was written is not known to survive.
  if (error.result.getWriteConcernError() !== undefined) return "outage";
  const failed = failedWrites(error);
  if (failed.length === 0) {
    // The driver wraps what is no answer of the server, such as a lost connection.
    const cause: unknown = error.errorResponse;
    return cause instanceof Error ? classify(cause) : classifyAnswer(error);
  }
  const found = new Set(failed.map((one) => classify(one.error)));
  return severity.find((kind) => found.has(kind)) ?? "unforeseen";
}

/** Which failure of a bulk's writes counts. A duplicate first: after it the others may only follow from it. */
const severity: readonly FailureKind[] = [
  "duplicate",
  "unforeseen",
  "unsupported",
  "credentials",
  "forbidden",
  "outage",
  "conflict",
];

const isWithoutAnswer = (error: unknown): boolean =>
  error instanceof MongoNetworkError ||
  error instanceof MongoServerSelectionError ||
  error instanceof MongoTopologyClosedError ||
  error instanceof MongoNotConnectedError ||
  error instanceof MongoClientClosedError ||
  error instanceof MongoOperationTimeoutError ||
  (error instanceof MongoError && withoutConnection.has(error.name)) ||
  isOfTheSocket(error);

/** Names of errors that the driver does not export: no connection of the pool could be had. */
const withoutConnection = new Set(["MongoWaitQueueTimeoutError", "MongoPoolClosedError"]);

/**
 * Where the driver waits until a large message is written, it passes on the socket's own error (7.8, `writeCommand`),
 * and a commit then trips over the label that such an error cannot have.
 */
const isOfTheSocket = (error: unknown): boolean =>
  error instanceof TypeError
    ? error.message.includes("hasErrorLabel")
    : error instanceof Error && "syscall" in error;

/** Whether a unique index objected. Which one is not said: products differ in how they word it, or do not say it. */
export const isDuplicate = (error: unknown): boolean => classify(error) === "duplicate";

/** What the rest of the program is told where the same may succeed later. */
const unavailable: Readonly<Partial<Record<FailureKind, string>>> = {
  outage: "MongoDB does not answer",
  conflict: "MongoDB aborted the transaction",
  // At start this is a fault of the settings; later, mostly a password that is being changed.
  credentials: "MongoDB does not accept the credentials of MONGODB_URI",
};

/**
 * The error as the rest of the program knows it: UnavailableError where the same may succeed later, ConfigurationError with the cure
 * where a setting is at fault, itself otherwise.
 */
export function translateErrors(error: unknown): unknown {
  if (hasNoRetryableWrites(error))
    return new ConfigurationError(
      "this MongoDB has no retryable writes: add retryWrites=false to MONGODB_URI",
      {
        cause: error,
      },
    );
  const kind = classify(error);
  const reason = unavailable[kind];
  if (reason === undefined) return error;
  const message = `${reason}: ${getErrorMessage(error)}`;
  return kind === "conflict"
    ? new TransactionConflictError(message, { cause: error })
    : new UnavailableError(message, { cause: error });
}

/** What went wrong with one write of a bulk. */
export interface WriteError {
  /** In the order in which the writes were given. */
  readonly index: number;
  readonly error: MongoServerError;
}

/**
 * What went wrong with single writes of an unordered bulk, whose others are acknowledged; undefined when the error says
 * nothing of single writes.
 */
export function getWriteErrors(error: unknown): readonly WriteError[] | undefined {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined)
    return undefined;
  const failed = failedWrites(error);
  return failed.length === 0 ? undefined : failed;
}

const failedWrites = ({ writeErrors }: MongoBulkWriteError): readonly WriteError[] =>
  [writeErrors].flat().map(({ index, code, errmsg }) => ({
    index,
    error: new MongoServerError({ code, errmsg: errmsg ?? `error ${code}` }),
  }));
