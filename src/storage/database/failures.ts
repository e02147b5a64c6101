import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoCompatibilityError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
  type ClientSession,
} from "mongodb";

import {
  ConfigurationError,
  getErrorMessage,
  TransactionConflictError,
  UnavailableError,
} from "@topicsync/lib/errors";

/**
 * What an error of MongoDB means for the operation:
 * - `duplicate`: it violates a unique index;
 * - `conflict`: its transaction was aborted, mostly because of another one; a retry may succeed;
 * - `outage`: the database is unreachable, starting, stopping, overloaded or too slow;
 * - `credentials`: the user's name or password is wrong;
 * - `forbidden`: the user lacks the privilege;
 * - `unsupported`: this product or version does not have it;
 * - `unforeseen`: anything else.
 */
export type FailureKind =
  "duplicate" | "conflict" | "outage" | "credentials" | "forbidden" | "unsupported" | "unforeseen";

/** Codes with the same meaning in every product. Outages include the driver's retryable errors. */
const kinds: readonly (readonly [FailureKind, readonly number[]])[] = [
  ["duplicate", [11000, 11001, 12582]],
  // WriteConflict and NoSuchTransaction: not every product adds the label TransientTransactionError.
  ["conflict", [112, 251]],
  [
    "outage",
    [
      6, 7, 24, 43, 50, 64, 79, 89, 91, 100, 133, 134, 189, 202, 237, 262, 290, 317, 358, 365, 384, 402, 407,
      9001, 10058, 10107, 11600, 11601, 11602, 13388, 13435, 13436, 46841,
      // Around elections: QueryPlanKilled, KeyNotFound, IncompleteTransactionHistory, TransactionTooOld.
      175, 211, 217, 225,
    ],
  ],
  ["credentials", [11, 18]],
  // 8000 is AtlasError.
  ["forbidden", [13, 8000]],
  ["unsupported", [20, 59, 115, 238, 263]],
];
const kindByCode = new Map(kinds.flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)));

/** Above MongoDB's codes. Below it are those of PostgreSQL that end with 0. */
const firstSqlState = 1 << 24;
/** 53300, too many connections. */
const tooManyConnections = 12_485;
/** Classes of PostgreSQL's errors: connection, resources, operator intervention; transaction rollback. */
const kindBySqlClass = new Map<string, FailureKind>([
  ["08", "outage"],
  ["53", "outage"],
  ["57", "outage"],
  ["40", "conflict"],
]);

/**
 * The kind of an error that DocumentDB passes on from PostgreSQL: its five characters as a number, six bits
 * each (MAKE_SQLSTATE), the first two of which are the class.
 */
function kindBySqlState(code: number): FailureKind | undefined {
  if (code === tooManyConnections) return "outage";
  if (!(code >= firstSqlState)) return undefined;
  const sqlClass = [code, code >> 6].map((bits) => String.fromCharCode((bits & 0x3f) + 0x30)).join("");
  return kindBySqlClass.get(sqlClass);
}

const outageLabels = [
  "RetryableWriteError",
  "UnknownTransactionCommitResult",
  "SystemOverloadedError",
  "RetryableError",
];

/** Classifies an error of MongoDB; nothing else interprets them. */
export function classify(error: unknown): FailureKind {
  if (error instanceof MongoBulkWriteError) return classifyBulk(error);
  if (error instanceof MongoServerError) return classifyServerError(error);
  if (error instanceof MongoCompatibilityError) return "unsupported";
  return isConnectionError(error) ? "outage" : "unforeseen";
}

function classifyServerError(error: MongoServerError): FailureKind {
  const code = Number(error.code);
  const kind = kindByMessage(error) ?? kindByCode.get(code) ?? kindBySqlState(code);
  // DocumentDB reports a duplicate key within a transaction as a write conflict.
  if (kind === "conflict" && /duplicate key/i.test(error.message)) return "duplicate";
  if (kind === "duplicate") return kind;
  if (error.hasErrorLabel("TransientTransactionError")) return "conflict";
  if (error instanceof MongoWriteConcernError || outageLabels.some((label) => error.hasErrorLabel(label)))
    return "outage";
  return kind ?? "unforeseen";
}

/** Codes that some products use with several meanings, or with another one than MongoDB. */
function kindByMessage(error: MongoServerError): FailureKind | undefined {
  if (hasNoRetryableWrites(error)) return "unsupported";
  if (error.code === 8000 && /bad auth/i.test(error.message)) return "credentials";
  if (error.code === 8000 && /over your space quota/i.test(error.message)) return "outage";
  if (error.code === 303) return /not supported/i.test(error.message) ? "unsupported" : "outage";
  return undefined;
}

const hasNoRetryableWrites = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === 301 && /retryable writes/i.test(error.message);

function classifyBulk(error: MongoBulkWriteError): FailureKind {
  // The writes may not be durable.
  if (error.result.getWriteConcernError() !== undefined) return "outage";
  const failed = toWriteErrors(error);
  if (failed.length === 0) {
    // The driver wraps errors that are not responses of the server, such as a lost connection.
    const cause: unknown = error.errorResponse;
    return cause instanceof Error ? classify(cause) : classifyServerError(error);
  }
  const found = new Set(failed.map((one) => classify(one.error)));
  return severity.find((kind) => found.has(kind)) ?? "unforeseen";
}

/** Which failure of a bulk counts, most important first. The others may follow from a duplicate. */
const severity: readonly FailureKind[] = [
  "duplicate",
  "unforeseen",
  "unsupported",
  "credentials",
  "forbidden",
  "outage",
  "conflict",
];

const isConnectionError = (error: unknown): boolean =>
  error instanceof MongoNetworkError ||
  error instanceof MongoServerSelectionError ||
  error instanceof MongoTopologyClosedError ||
  error instanceof MongoServerClosedError ||
  error instanceof MongoNotConnectedError ||
  error instanceof MongoClientClosedError ||
  error instanceof MongoOperationTimeoutError ||
  (error instanceof MongoError && poolErrors.has(error.name)) ||
  isSocketError(error);

/** No connection was available in the pool. The driver does not export these classes. */
const poolErrors = new Set(["MongoWaitQueueTimeoutError", "MongoPoolClosedError"]);

/**
 * While the driver waits for a large message to be written, it passes on the raw error of the socket (7.8,
 * `writeCommand`); a commit then fails with a TypeError, because it calls `hasErrorLabel` on it.
 */
const isSocketError = (error: unknown): boolean =>
  error instanceof TypeError
    ? error.message.includes("hasErrorLabel")
    : error instanceof Error && "syscall" in error;

const noSuchTransaction = 251;

/**
 * Commits a transaction. A commit that does not find its transaction is a conflict only with MongoDB's label:
 * without it, an earlier attempt of the driver may have been stored by another primary (specification of
 * transactions, "Majority write concern is used when retrying commitTransaction"), which makes it an outage.
 */
export async function commit(session: ClientSession): Promise<void> {
  try {
    await session.commitTransaction();
  } catch (error) {
    if (error instanceof MongoServerError && error.code === noSuchTransaction)
      if (!error.hasErrorLabel("TransientTransactionError"))
        error.addErrorLabel("UnknownTransactionCommitResult");
    throw error;
  }
}

/**
 * The codes of the specification of retryable writes. MongoDB adds the label RetryableWriteError to them only
 * if the command has a transaction number.
 */
const repeatableCodes: ReadonlySet<unknown> = new Set([
  6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
]);

/**
 * Whether an idempotent write is to be sent once more: its connection was lost, or the primary has changed.
 */
export const isWorthRepeating = (error: unknown): boolean =>
  isSocketError(error) ||
  (error instanceof MongoError &&
    !error.hasErrorLabel("SystemOverloadedError") &&
    (error instanceof MongoNetworkError || repeatableCodes.has(error.code)));

/** Sends an idempotent write, which the driver does not repeat, once more after a failover. */
export const repeatOnce = <T>(send: () => Promise<T>): Promise<T> =>
  send().catch((error: unknown) => {
    if (!isWorthRepeating(error)) throw error;
    return send();
  });

/** Whether the operation exceeded its `maxTimeMS`. */
export const isTimeLimitExceeded = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === 50;

/** Whether the operation violated a unique index. Not every product names the index. */
export const isDuplicate = (error: unknown): boolean => classify(error) === "duplicate";

/** The messages for failures after which a retry may succeed. */
const unavailableMessages: Readonly<Partial<Record<FailureKind, string>>> = {
  outage: "MongoDB does not respond",
  conflict: "MongoDB aborted the transaction",
  // At start the settings are wrong (see database.ts); later the password is probably being changed.
  credentials: "MongoDB does not accept the credentials of MONGODB_URI",
};

/**
 * Translates an error of MongoDB: UnavailableError if a retry may succeed, ConfigurationError with the cure
 * if a setting is wrong; other errors are returned unchanged.
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
  const reason = unavailableMessages[kind];
  if (reason === undefined) return error;
  const message = `${reason}: ${getErrorMessage(error)}`;
  return kind === "conflict"
    ? new TransactionConflictError(message, { cause: error })
    : new UnavailableError(message, { cause: error });
}

/** The error of one write of a bulk. */
export interface WriteError {
  /** The position of the write in the bulk. */
  readonly index: number;
  readonly error: MongoServerError;
}

/**
 * Returns the errors of single writes of an unordered bulk, whose other writes are acknowledged; undefined if
 * the bulk failed as a whole.
 */
export function getWriteErrors(error: unknown): readonly WriteError[] | undefined {
  if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError() !== undefined)
    return undefined;
  const failed = toWriteErrors(error);
  return failed.length === 0 ? undefined : failed;
}

/** Returns the duplicates of an unordered bulk. Throws what else failed: a retry may succeed then. */
export function getDuplicates(error: unknown): readonly WriteError[] {
  const failed = getWriteErrors(error);
  if (failed === undefined) throw error;
  const other = failed.find((one) => !isDuplicate(one.error));
  if (other !== undefined) throw other.error;
  return failed;
}

const toWriteErrors = ({ writeErrors }: MongoBulkWriteError): readonly WriteError[] =>
  [writeErrors].flat().map(({ index, code, errmsg }) => ({
    index,
    error: new MongoServerError({ code, errmsg: errmsg ?? `error ${code}` }),
  }));
