import { createRequire } from "node:module";

/** What kafkajs has of a record that it decoded. */
export interface FetchedMessage {
  readonly offset: string;
  readonly key: Buffer | null;
  /** Records of this kind are not delivered. */
  isControlRecord?: boolean;
  /** Absent in formats from before Kafka 0.11, which have no transactions. */
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean };
}

/** What a fetch has of one partition. */
export interface FetchedPartition {
  messages?: readonly FetchedMessage[];
  abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[];
}

interface FetchAnswer {
  readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[];
}

interface Broker {
  fetch(request: object): Promise<FetchAnswer>;
}

/** A control record's key: a version and the type, 0 for an abort (Kafka's documentation, "Control Batches"). */
const typeAt = 2;
const abortType = 0;

let isPatched = false;

/**
 * Makes kafkajs 2.2.4 deliver no record of an aborted transaction, in this whole process. Its own filter starts at most one
 * aborted transaction per record, and takes every record with the key 00000000 for the end of one. See
 * docs/decisions/009-aborted-transactions.md.
 */
export function hideAbortedTransactions(): void {
  if (isPatched) return;
  isPatched = true;
  const require = createRequire(import.meta.url);
  const { prototype } = require("kafkajs/src/broker/index.js") as { prototype: Broker };
  const fetch = Reflect.get(prototype, "fetch");
  prototype.fetch = async function (this: Broker, request: object) {
    const answer = await fetch.call(this, request);
    for (const { partitions } of answer.responses) for (const one of partitions) hideAborted(one);
    return answer;
  };
}

/**
 * Marks the records of aborted transactions as control records, and leaves nothing to kafkajs' own filter. They still count
 * for the end of what was fetched. Kafka's own consumer filters in the same way (CompletedFetch.nextFetchedRecord).
 */
export function hideAborted(partition: FetchedPartition): void {
  const { messages = [], abortedTransactions = [] } = partition;
  partition.abortedTransactions = [];
  if (abortedTransactions.length === 0) return;
  const waiting = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .toSorted((one, other) => other.firstOffset - one.firstOffset);
  const aborted = new Set<string>();
  for (const message of messages) {
    for (let next = waiting.at(-1); next !== undefined && next.firstOffset <= Number(message.offset);) {
      aborted.add(next.producerId);
      waiting.pop();
      next = waiting.at(-1);
    }
    const { batchContext, isControlRecord = false, key } = message;
    if (batchContext === undefined || !aborted.has(batchContext.producerId)) continue;
    if (!isControlRecord) message.isControlRecord = batchContext.inTransaction;
    else if (key?.readInt16BE(typeAt) === abortType) aborted.delete(batchContext.producerId);
  }
}
