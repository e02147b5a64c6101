/** Sessions as those of the driver. */
import { MongoNetworkError, MongoServerError, UUID } from "mongodb";

import type { TransactionId } from "./commands.ts";
import { formatValue } from "./documents.ts";

export type Session = ReturnType<typeof createSession>;

let created = 0;
/** Different in every run of a process: nothing depends on its order. */
export const createName = (): string => {
  created += 1;
  return created.toString(16).padStart(32, "0");
};

interface SessionCommands {
  readonly commit: (transaction: TransactionId) => Promise<void>;
  readonly abort: (transaction: TransactionId) => Promise<void>;
}

/** A session as the driver's, with its states. */
export function createSession({ commit, abort }: SessionCommands) {
  const id = new UUID(createName());
  const session = formatValue(id);
  let number = 0;
  let state: "none" | "starting" | "in progress" = "none";
  const inTransaction = (): boolean => state !== "none";

  /** Returns whether no command has begun the transaction. */
  function endTransaction(): boolean {
    if (state === "none") throw new Error("No transaction started");
    const isEmpty = state === "starting";
    state = "none";
    return isEmpty;
  }

  const api = {
    id: { id },
    inTransaction,
    /** Called with each command in the session. */
    use(): TransactionId {
      if (state === "none") throw new Error("the session has no transaction");
      const isFirst = state === "starting";
      state = "in progress";
      return { session, number, isFirst };
    },
    startTransaction() {
      if (inTransaction()) throw new Error("Transaction already in progress");
      number += 1;
      state = "starting";
    },
    async commitTransaction() {
      const isEmpty = endTransaction();
      if (isEmpty) return;
      try {
        await commit({ session, number, isFirst: false });
      } catch (error) {
        const isUnknown =
          error instanceof MongoNetworkError || (error instanceof MongoServerError && error.code !== 251);
        if (isUnknown) error.addErrorLabel("UnknownTransactionCommitResult");
        throw error;
      }
    },
    async abortTransaction() {
      const isEmpty = endTransaction();
      if (!isEmpty) await abort({ session, number, isFirst: false }).catch(() => undefined);
    },
    endSession: () => (inTransaction() ? api.abortTransaction() : Promise.resolve()),
  };
  return api;
}
