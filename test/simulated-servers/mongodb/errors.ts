/** The errors of a simulated MongoDB. */
import { MongoServerError } from "mongodb";

export const createError = (
  code: number,
  errmsg: string,
  errorLabels: readonly string[] = [],
): MongoServerError => new MongoServerError({ code, errmsg, errorLabels: [...errorLabels] });

/** The connection adds the label. */
export const createNotPrimaryError = (): MongoServerError => createError(10107, "not primary");

export const createInterruptedError = (): MongoServerError =>
  createError(11602, "operation was interrupted by a change of the primary");

export const createConflict = (message: string): MongoServerError =>
  createError(112, message, ["TransientTransactionError"]);

/** Without the label, another primary may have stored the transaction. */
export const createNoTransaction = (hasLabel = true): MongoServerError =>
  createError(
    251,
    "Transaction does not match any in-progress transactions.",
    hasLabel ? ["TransientTransactionError"] : [],
  );
