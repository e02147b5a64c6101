import type { Producer, TopicOffsets, Transaction } from "kafkajs";

import type { Logger } from "../lib/logger.ts";
import { getErrorMessage, KafkaUnavailableError, UnavailableError } from "../lib/errors.ts";
import { sleep } from "../lib/platform.ts";
import { newId } from "../lib/sys-id.ts";
import {
  RecordRejectedError,
  type RoutingTransaction,
  type RoutingTransactions,
} from "../routing/transactions.ts";
import { FencedError, type Position } from "../sync/positions.ts";
import type { Partition } from "../sync/records.ts";
import { hasType, quoteGroup, toKafkaError, toOutage } from "./errors.ts";
import { createTopicLimits, sendAll, sendEach, splitIntoRequests } from "./routed-requests.ts";
import type { KafkaClient } from "./sockets.ts";
import type { KafkaRequests } from "./requests.ts";
import { toPosition, type PositionMetadata } from "./committed-position.ts";

export interface TransactionsOptions {
  readonly partition: Partition;
  readonly groupId: string;
  /** Creates a client with its own connections. */
  readonly createClient: () => KafkaClient;
  readonly requests: Pick<KafkaRequests, "fetchStableOffset">;
  readonly log: Logger;
}

/** How long an open transaction of a killed process holds up readers, unless another process takes its partition over. */
const transactionTimeoutMs = 60_000;
/**
 * How long the producer uses what it knows of the leaders of partitions. kafkajs leaves out messages for partitions that it does
 * not know yet, and a batch of which something was left out is sent again.
 */
const metadataMaxAgeMs = 20_000;
/** The broker completes a transaction after it has acknowledged its end. */
const completionPollMs = 3;
const completionTimeoutMs = 10_000;

/** Creates the transactional producer of a partition. Connects with the first claim. */
export function createRoutingTransactions(options: TransactionsOptions): RoutingTransactions {
  const { partition, groupId, requests, log } = options;
  const name = `${partition.topic}-${partition.partition}`;
  const transactionalId = `${groupId}-${name}`;
  const rights = {
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: `Write on transactional id "${transactionalId}"`,
    GROUP_AUTHORIZATION_FAILED: `Read on ${quoteGroup(groupId)}`,
  };
  /** Tells its commits from those of others. */
  const ownId = newId();
  const limits = createTopicLimits();
  let producer: Producer | undefined;
  /** kafkajs connects a producer once more that was disconnected while it was connecting or retrying. */
  let closeConnections: () => void = () => undefined;
  let isClosed = false;
  /** Initialised, but nothing was sent yet. */
  let ready: Transaction | undefined;

  function toError(error: unknown): Error {
    if (error instanceof RecordRejectedError) return error;
    // Brokers report a fenced producer so, and one whose transaction they aborted because it took too long.
    if (hasType(error, "INVALID_PRODUCER_EPOCH"))
      return new FencedError("another process took the partition over, or the transaction took too long", {
        cause: error,
      });
    // kafkajs looks up all topics that a producer ever used, and fails if one of them is denied now. The next producer looks up others.
    if (hasType(error, "TOPIC_AUTHORIZATION_FAILED")) return toOutage(error);
    return toKafkaError(error, rights);
  }

  function disconnect(unused: Producer): void {
    unused.disconnect().catch((error: unknown) => {
      log.debug({ reason: getErrorMessage(error) }, "transactional producer not disconnected");
    });
  }

  /** Requests that it still retries carry its old epoch, so the broker rejects them. */
  function dropProducer(): void {
    if (producer !== undefined) disconnect(producer);
    closeConnections();
    producer = undefined;
    ready = undefined;
  }

  /** Throws what the action throws, converted. Its outcome is unknown then, and the producer cannot be used any more. */
  async function attempt<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      dropProducer();
      throw toError(error);
    }
  }

  async function initialise(): Promise<void> {
    const { kafka, dropConnection, close } = options.createClient();
    closeConnections = close;
    const created = kafka.producer({
      transactionalId,
      transactionTimeout: transactionTimeoutMs,
      allowAutoTopicCreation: false,
      metadataMaxAge: metadataMaxAgeMs,
      // When one broker fails, kafkajs repeats what it sent to all that have not responded yet, with new sequence numbers: the
      // records would be written twice. A new claim repeats everything instead.
      retry: { retries: 0 },
      // Every message has its partition. kafkajs' own partitioner goes through all partitions for each.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
    producer = created;
    created.on(created.events.REQUEST_TIMEOUT, dropConnection);
    await created.connect();
    // Initialises the producer; the transaction begins at the broker with the first request.
    const transaction = await created.transaction();
    if (producer !== created) throw new UnavailableError("the partition is not read any more");
    ready = transaction;
  }

  async function begin(to: Position): Promise<RoutingTransaction> {
    const isFirst = ready !== undefined;
    const transaction = ready ?? (await producer?.transaction());
    if (transaction === undefined) throw new UnavailableError("the partition is not claimed");
    ready = undefined;
    // First, because only this request is not retried by kafkajs, with an error in the log, while the last one is completed.
    await whileCompleting(() =>
      transaction.sendOffsets({ consumerGroupId: groupId, topics: [toOffsets(partition, to, ownId)] }),
    );
    return {
      sendAll: (records) =>
        attempt(async () => {
          for (const request of splitIntoRequests(records, limits)) await sendAll(transaction, request);
        }),
      sendEach: (records) => attempt(() => sendEach(transaction, records, { limits, isFirst })),
      commit: () => attempt(() => transaction.commit()),
    };
  }

  return {
    async claim() {
      dropProducer();
      if (isClosed) throw new UnavailableError("the partition is not read any more");
      return attempt(async () => {
        await initialise();
        const committed = await whileCompleting(() => requests.fetchStableOffset({ groupId, ...partition }));
        return toPosition(committed, ownId);
      });
    },
    begin: (to) => attempt(() => begin(to)),
    close() {
      isClosed = true;
      dropProducer();
      return Promise.resolve();
    },
  };
}

/** Repeats a request that the broker rejects while it completes a transaction. */
async function whileCompleting<T>(request: () => Promise<T>): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += completionPollMs) {
    try {
      return await request();
    } catch (error) {
      if (!hasType(error, "CONCURRENT_TRANSACTIONS", "UNSTABLE_OFFSET_COMMIT")) throw error;
      if (waitedMs > completionTimeoutMs)
        throw new KafkaUnavailableError("Kafka does not complete a transaction", { cause: error });
      await sleep(completionPollMs);
    }
  }
}

function toOffsets(
  { topic, partition }: Partition,
  { offset, epoch, topicId }: Position,
  by: string,
): TopicOffsets {
  const metadata: PositionMetadata = { epoch, ...(topicId === undefined ? {} : { topicId }), by };
  const position = { partition, offset: String(offset), metadata: JSON.stringify(metadata) };
  return { topic, partitions: [position] };
}
