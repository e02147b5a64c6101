import type { Producer, Transaction } from "kafkajs";

import type { Logger } from "@topicsync/lib/logger";
import { getErrorMessage, KafkaUnavailableError, UnavailableError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { elapsed, sleep } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import {
  RecordRejectedError,
  type RoutingTransaction,
  type RoutingTransactions,
} from "./interface/routing-transactions.ts";
import { FencedError, type ClaimedPosition, type Position } from "./interface/positions.ts";
import type { Partition } from "./interface/records.ts";
import { hasType, quoteGroup, toKafkaError, toOutage, type Rights } from "./errors.ts";
import { createTopicLimits, sendAll, sendEach, splitIntoRequests } from "./routed-requests.ts";
import type { OutputCheck } from "./lost-ends.ts";
import type { KafkaClient } from "./sockets.ts";
import type { KafkaRequests } from "./requests.ts";
import { toOffsets, toPosition } from "./committed-position.ts";

/** A partition that events are read from, and the router's consumer group. */
export interface RoutedPartition {
  readonly partition: Partition;
  readonly groupId: string;
}

interface TransactionsOptions extends RoutedPartition {
  /** Creates a client with its own connections. */
  readonly createClient: () => KafkaClient;
  readonly requests: Pick<KafkaRequests, "fetchStableOffset" | "restoreEnd">;
  /** Undefined where no router is configured. */
  readonly isOutput: OutputCheck | undefined;
  readonly log: Logger;
}

/**
 * How long an open transaction of a killed process holds up readers, unless another process takes its
 * partition over.
 */
const transactionTimeoutMs = 60_000;
/**
 * How long the producer uses what it knows of the leaders of partitions. kafkajs leaves out messages for
 * partitions that it does not know yet, and the whole batch is then sent again.
 */
const metadataMaxAgeMs = 20_000;
/** The broker completes a transaction after it has acknowledged its end, usually within milliseconds. */
const completionPollMs = 3;
const quickCompletionMs = 100;
const slowCompletionPollMs = 50;
const completionTimeoutMs = 10_000;
/** How brokers answer until then. */
const completionTypes = ["CONCURRENT_TRANSACTIONS", "UNSTABLE_OFFSET_COMMIT"] as const;

type Mode =
  | { readonly kind: "unclaimed" }
  | { readonly kind: "closed" }
  | {
      readonly kind: "claimed";
      readonly producer: Producer;
      /** kafkajs connects a producer once more that was disconnected while it was connecting or retrying. */
      readonly closeConnections: () => void;
      /** The first transaction, which initialised the producer. Nothing was sent in it yet. */
      first: Transaction | undefined;
      /** The transaction that has begun and was not committed. */
      open: Transaction | undefined;
    };

type Claimed = Extract<Mode, { readonly kind: "claimed" }>;

/**
 * The transactional producer of a partition. Connects with the first claim.
 *
 * Invariant: a producer has at most one open transaction. After any error its outcome is unknown, so that the
 * producer is dropped, and nothing else is sent before the next claim.
 */
export class PartitionTransactions implements RoutingTransactions {
  readonly #options: TransactionsOptions;
  readonly #transactionalId: string;
  readonly #rights: Rights;
  /** Identifies commits made by this process. */
  readonly #ownId = newId();
  readonly #limits = createTopicLimits();
  #isDenialLogged = false;
  #mode: Mode = { kind: "unclaimed" };

  constructor(options: TransactionsOptions) {
    const { partition, groupId } = options;
    this.#options = options;
    this.#transactionalId = `${groupId}-${partition.topic}-${partition.partition}`;
    this.#rights = {
      TRANSACTIONAL_ID_AUTHORIZATION_FAILED: `Write on transactional id "${this.#transactionalId}"`,
      GROUP_AUTHORIZATION_FAILED: `Read on ${quoteGroup(groupId)}`,
    };
  }

  async claim(): Promise<ClaimedPosition | undefined> {
    this.#dropProducer();
    this.#requireOpen();
    return this.#attempt(async () => {
      await this.#restoreEnd();
      // A new producer would fence the process that reads the partition by now, and stay connected.
      this.#requireOpen();
      await this.#initialise();
      return this.#fetchPosition();
    });
  }

  findPosition(): Promise<ClaimedPosition | undefined> {
    return this.#fetchPosition().catch((error: unknown) => {
      throw this.#toError(error);
    });
  }

  begin(to: Position): Promise<RoutingTransaction> {
    return this.#attempt(() => this.#begin(to));
  }

  close(): Promise<void> {
    this.#dropProducer();
    this.#mode = { kind: "closed" };
    return Promise.resolve();
  }

  #requireOpen(): void {
    if (this.#mode.kind === "closed") throw new UnavailableError("the partition is not read any more");
  }

  async #restoreEnd(): Promise<void> {
    const { requests, groupId, partition, isOutput, log } = this.#options;
    const transactionalId = this.#transactionalId;
    const restored = await requests.restoreEnd({ transactionalId, groupId, isOutput, ...partition });
    const { end, denied } = restored;
    const details = { partition: `${partition.topic}-${partition.partition}` };
    if (end !== undefined)
      log.warn(
        { ...details, end },
        "Kafka had lost the end of a transaction (KAFKA-20734); it was written again",
      );
    if (denied.length > 0 && !this.#isDenialLogged)
      log.warn(
        { ...details, topics: denied.slice(0, 10), right: "Read" },
        "lost ends of transactions cannot be looked for in these topics: Kafka denies its user Read on them",
      );
    this.#isDenialLogged ||= denied.length > 0;
  }

  async #fetchPosition(): Promise<ClaimedPosition | undefined> {
    const { requests, groupId, partition } = this.#options;
    const committed = await whileCompleting(() => requests.fetchStableOffset({ groupId, ...partition }));
    return toPosition(committed, this.#ownId);
  }

  async #initialise(): Promise<void> {
    const { kafka, dropConnection, close } = this.#options.createClient();
    const producer = kafka.producer({
      transactionalId: this.#transactionalId,
      transactionTimeout: transactionTimeoutMs,
      allowAutoTopicCreation: false,
      metadataMaxAge: metadataMaxAgeMs,
      // When one broker fails, kafkajs repeats what it sent to all that have not responded yet, with new
      // sequence numbers: the records would be written twice. A new claim repeats everything instead.
      retry: { retries: 0 },
      // Every message has its partition. kafkajs' own partitioner goes through all partitions for each
      // message.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
    const claimed: Claimed = {
      kind: "claimed",
      producer,
      closeConnections: close,
      first: undefined,
      open: undefined,
    };
    this.#mode = claimed;
    producer.on(producer.events.REQUEST_TIMEOUT, dropConnection);
    await producer.connect();
    // This call initialises the producer. The transaction begins at the broker with the first request. If the
    // former producer has one open, the broker first aborts that.
    const transaction = await whileCompleting(() => producer.transaction());
    if (this.#mode !== claimed) throw new UnavailableError("the partition is not read any more");
    claimed.first = transaction;
  }

  async #begin(to: Position): Promise<RoutingTransaction> {
    const claimed = this.#mode;
    if (claimed.kind !== "claimed") throw new UnavailableError("the partition is not claimed");
    invariant(claimed.open === undefined, "a producer has at most one open transaction");
    const isFirst = claimed.first !== undefined;
    const transaction = claimed.first ?? (await claimed.producer.transaction());
    claimed.first = undefined;
    claimed.open = transaction;
    // This request is sent first: it is the only one that kafkajs does not retry, with an error in the log,
    // while the previous transaction is still completing.
    const { partition, groupId } = this.#options;
    await whileCompleting(() =>
      transaction.sendOffsets({
        consumerGroupId: groupId,
        topics: [toOffsets(partition, to, this.#ownId)],
      }),
    );
    const limits = this.#limits;
    const use = <T>(action: () => Promise<T>): Promise<T> =>
      this.#attempt(() => {
        invariant(claimed.open === transaction, "a transaction is used only while it is open");
        return action();
      });
    return {
      sendAll: (records) =>
        use(async () => {
          for (const request of splitIntoRequests(records, limits)) await sendAll(transaction, request);
        }),
      sendEach: (records) => use(() => sendEach(transaction, records, { limits, isFirst })),
      commit: () =>
        use(async () => {
          await transaction.commit();
          claimed.open = undefined;
        }),
    };
  }

  /**
   * Throws what the action throws, converted. The outcome of the action is unknown then, so the producer is
   * dropped.
   */
  async #attempt<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      this.#dropProducer();
      throw this.#toError(error);
    }
  }

  /** The broker rejects requests that the producer still retries, because they carry its old epoch. */
  #dropProducer(): void {
    if (this.#mode.kind !== "claimed") return;
    const { producer, closeConnections } = this.#mode;
    producer.disconnect().catch((error: unknown) => {
      this.#options.log.debug({ reason: getErrorMessage(error) }, "transactional producer not disconnected");
    });
    closeConnections();
    this.#mode = { kind: "unclaimed" };
  }

  #toError(error: unknown): Error {
    if (error instanceof RecordRejectedError) return error;
    // Brokers report in this way that a producer is fenced, and that they aborted its transaction after its
    // timeout.
    if (hasType(error, "INVALID_PRODUCER_EPOCH"))
      return new FencedError("another process took the partition over, or the transaction took too long", {
        cause: error,
      });
    // kafkajs looks up all topics that a producer ever used, and fails if one of them is denied now. The next
    // producer looks up others.
    if (hasType(error, "TOPIC_AUTHORIZATION_FAILED")) return toOutage(error);
    return toKafkaError(error, this.#rights);
  }
}

/** Repeats a request that the broker rejects while it completes a transaction. */
async function whileCompleting<T>(request: () => Promise<T>): Promise<T> {
  const startedAt = elapsed();
  for (;;) {
    try {
      return await request();
    } catch (error) {
      const type = completionTypes.find((one) => hasType(error, one));
      if (type === undefined) throw error;
      const waitedMs = elapsed() - startedAt;
      if (waitedMs > completionTimeoutMs)
        throw new KafkaUnavailableError(`Kafka does not complete a transaction (${type})`, { cause: error });
      await sleep(waitedMs < quickCompletionMs ? completionPollMs : slowCompletionPollMs);
    }
  }
}
