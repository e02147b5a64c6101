/**
 * Fault of kafkajs 2.2.4, consumer/filterAbortedMessages.js:4 and 45: its filter starts at most one aborted
 * transaction per record, and takes every record with the key 00000000 for the end of one.
 * The test in test/workarounds/aborted-transactions.test.ts fails when kafkajs no longer needs
 * this.
 */

/** A record as kafkajs decodes it. */
export interface FetchedMessage {
  readonly offset: string;
  readonly key: Buffer | null;
  /** kafkajs does not deliver control records. */
  isControlRecord?: boolean;
  /** Absent in the formats before Kafka 0.11, which have no transactions. */
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean };
}

/** The part of a fetch response that belongs to one partition. */
export interface PartitionMessages {
  messages?: readonly FetchedMessage[];
  abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[];
}

/**
 * A control record's key holds a version and the type, 0 for an abort (Kafka's documentation, "Control
 * Batches").
 */
const typeOffset = 2;
const abortType = 0;

/**
 * Marks the records of aborted transactions as control records, and leaves nothing to the filter of kafkajs.
 * They still count towards the end of the fetched range. Kafka's own consumer filters the same way
 * (CompletedFetch.nextFetchedRecord).
 */
export function hideAborted(partition: PartitionMessages): void {
  const { messages = [], abortedTransactions = [] } = partition;
  partition.abortedTransactions = [];
  if (abortedTransactions.length === 0) return;
  const upcoming = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .toSorted((one, other) => other.firstOffset - one.firstOffset);
  const abortedProducers = new Set<string>();
  for (const message of messages) {
    for (let next = upcoming.at(-1); next !== undefined && next.firstOffset <= Number(message.offset);) {
      abortedProducers.add(next.producerId);
      upcoming.pop();
      next = upcoming.at(-1);
    }
    const { batchContext, isControlRecord = false, key } = message;
    if (batchContext === undefined || !abortedProducers.has(batchContext.producerId)) continue;
    if (!isControlRecord) message.isControlRecord = batchContext.inTransaction;
    else if (key?.readInt16BE(typeOffset) === abortType) abortedProducers.delete(batchContext.producerId);
  }
}
