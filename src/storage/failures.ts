import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from "mongodb";

import { messageOf, Unavailable } from "../errors.ts";

/**
 * Server errors that say that the server cannot do it now, by their codes: it is starting, stopping, not the primary,
 * too slow, or another operation was quicker. The list is the driver specification's (retryable writes), with time
 * limits and write conflicts.
 */
const passingCodes = new Set([
  6, 7, 50, 64, 79, 89, 91, 100, 112, 134, 189, 251, 262, 317, 358, 384, 9001, 10058, 10107, 11600, 11602,
  13435, 13436, 13388,
]);

/** The name of the unique index that objected; undefined when the error is another one. */
export function violatedIndex(error: unknown): string | undefined {
  if (!(error instanceof MongoServerError) || error.code !== 11000) return undefined;
  // A bulk's error has no keyPattern, so the name is taken from the message.
  return /index: (\S+)/.exec(error.message)?.[1] ?? "unknown";
}

/** Whether the same transaction may succeed when it is tried again at once. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError &&
  error.hasErrorLabel("TransientTransactionError") &&
  !(error instanceof MongoNetworkError);

/** Whether the error speaks of the database's state rather than of what was asked of it. */
export function isOutage(error: unknown): boolean {
  if (error instanceof MongoBulkWriteError && saysNothingOfWrites(error)) return true;
  if (error instanceof MongoServerError) {
    return (
      error instanceof MongoWriteConcernError ||
      passingCodes.has(Number(error.code)) ||
      error.hasErrorLabel("RetryableWriteError") ||
      error.hasErrorLabel("TransientTransactionError") ||
      error.hasErrorLabel("UnknownTransactionCommitResult")
    );
  }
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoClientClosedError ||
    error instanceof MongoOperationTimeoutError ||
    (error instanceof MongoError && withoutConnection.has(error.name)) ||
    isOfTheSocket(error)
  );
}

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

/** The error as the rest of the program knows it: Unavailable for an outage, itself otherwise. */
export function translated(error: unknown): unknown {
  return isOutage(error)
    ? new Unavailable(`MongoDB does not answer: ${messageOf(error)}`, { cause: error })
    : error;
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
export function writeErrorsOf(error: unknown): readonly WriteError[] | undefined {
  if (!(error instanceof MongoBulkWriteError) || saysNothingOfWrites(error)) return undefined;
  return [error.writeErrors].flat().map(({ index, code, errmsg }) => ({
    index,
    error: new MongoServerError({ code, errmsg: errmsg ?? `error ${code}` }),
  }));
}

/** Nothing was tried, or what was written is not known to survive. */
const saysNothingOfWrites = (error: MongoBulkWriteError): boolean =>
  [error.writeErrors].flat().length === 0 || error.result.getWriteConcernError() !== undefined;
