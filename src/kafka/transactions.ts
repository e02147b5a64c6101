import type { Message, Producer, RecordMetadata, TopicMessages, TopicOffsets, Transaction } from "kafkajs";

import type { Logger } from "../lib/logger.ts";
import { getErrorMessage, KafkaUnavailableError, UnavailableError } from "../lib/errors.ts";
import { sleep } from "../lib/platform.ts";
import { newId } from "../lib/sys-id.ts";
import {
  RecordRejectedError,
  type RoutedRecord,
  type RoutingTransaction,
  type RoutingTransactions,
} from "../routing/transactions.ts";
import { FencedError, type Position } from "../sync/positions.ts";
import type { Partition, SendRejection, SendResult } from "../sync/records.ts";
import { findSendRejection, hasType, quoteGroup, toKafkaError, toOutage } from "./errors.ts";
import { canShareBatch, estimateBytes, splitIntoBatches, toMessage } from "./producer.ts";
import type { KafkaClient } from "./sockets.ts";
import { setGroups } from "./workarounds/message-groups.ts";
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

/** kafkajs sends the messages for a partition as one record batch, which must not exceed the topic's `max.message.bytes`. */
const maxBytesPerPartition = 512 * 1024;
const maxBytesPerRequest = 4 * 1024 * 1024;
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
          for (const request of splitIntoRequests(records)) await sendAll(transaction, request);
        }),
      sendEach: (records) => attempt(() => sendEach(transaction, records)),
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

/** What a request sends, by Kafka topic. */
type Request = ReadonlyMap<string, TopicRequest>;

/** Sends the messages of one request. A rejection may concern only some of them. */
async function sendAll(transaction: Transaction, request: Request): Promise<void> {
  try {
    const acknowledged = await transaction.sendBatch({ acks: -1, topicMessages: toTopicMessages(request) });
    checkAcknowledged(request, acknowledged);
  } catch (error) {
    const rejection = findRejection(error);
    throw rejection === undefined ? error : new RecordRejectedError(rejection);
  }
}

/** Throws unless every partition was acknowledged: kafkajs 2.2.4 silently leaves out those that its metadata lacks. */
function checkAcknowledged(request: Request, acknowledged: readonly RecordMetadata[]): void {
  const found = new Set(acknowledged.map(({ topicName, partition }) => `${topicName}-${partition}`));
  for (const [topic, { byPartition }] of request)
    for (const partition of Object.keys(byPartition))
      if (!found.has(`${topic}-${partition}`)) throw createUnacknowledgedError(topic, Number(partition));
}

const createUnacknowledgedError = (topic: string, partition: number): KafkaUnavailableError =>
  new KafkaUnavailableError(`Kafka did not acknowledge records for partition ${partition} of ${topic}`);

/** A topic that the user may not write to must not hold up the others, so it counts as a rejection. */
function findRejection(error: unknown): SendRejection | undefined {
  if (!hasType(error, "TOPIC_AUTHORIZATION_FAILED", "OPERATION_NOT_ATTEMPTED"))
    return findSendRejection(error);
  return { reason: "denied", message: "Kafka denies its user Write on it" };
}

/** What a request sends to a Kafka topic. */
interface TopicRequest {
  readonly messages: Message[];
  readonly byPartition: Record<number, Message[]>;
  readonly bytesByPartition: Record<number, number>;
}

/** Splits records into requests of limited size, overall and for each partition. */
function* splitIntoRequests(records: Iterable<RoutedRecord>): Generator<Request> {
  let topics = new Map<string, TopicRequest>();
  let totalBytes = 0;
  let first: RoutedRecord | undefined;
  for (const record of records) {
    const { topic, partition } = record;
    const bytes = estimateBytes(record);
    first ??= record;
    const isFull =
      (topics.get(topic)?.bytesByPartition[partition] ?? 0) + bytes > maxBytesPerPartition ||
      totalBytes + bytes > maxBytesPerRequest;
    if (totalBytes > 0 && (isFull || !canShareBatch(first, record))) {
      yield topics;
      topics = new Map();
      totalBytes = 0;
      first = record;
    }
    let request = topics.get(topic);
    if (request === undefined) {
      request = { messages: [], byPartition: {}, bytesByPartition: {} };
      topics.set(topic, request);
    }
    const message = toMessage(record);
    request.messages.push(message);
    (request.byPartition[partition] ??= []).push(message);
    request.bytesByPartition[partition] = (request.bytesByPartition[partition] ?? 0) + bytes;
    totalBytes += bytes;
  }
  if (totalBytes > 0) yield topics;
}

const toTopicMessages = (request: Request): TopicMessages[] =>
  [...request].map(([topic, { messages, byPartition }]) => ({
    topic,
    messages: setGroups(messages, byPartition),
  }));

/**
 * Sends the records of each partition in requests of their own: the broker accepts or rejects such a request as a whole, and
 * kafkajs numbers what follows a rejection correctly. A rejected request is halved until the record is found, unless the user
 * may not write to the Kafka topic at all.
 */
async function sendEach(
  transaction: Transaction,
  records: readonly RoutedRecord[],
): Promise<readonly SendResult[]> {
  const results = new Map<RoutedRecord, SendResult>();
  const denied = new Map<string, SendResult>();

  async function send(group: readonly RoutedRecord[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    const { topic, partition } = first;
    const denial = denied.get(topic);
    if (denial !== undefined) {
      for (const record of group) results.set(record, denial);
      return;
    }
    try {
      const [acknowledged] = await transaction.send({ topic, acks: -1, messages: group.map(toMessage) });
      if (acknowledged === undefined) throw createUnacknowledgedError(topic, partition);
      const baseOffset = Number(acknowledged.baseOffset);
      for (const [index, record] of group.entries())
        results.set(record, { partition, offset: baseOffset + index });
    } catch (error) {
      const rejection = findRejection(error);
      if (rejection === undefined) throw error;
      if (rejection.reason === "denied") denied.set(topic, { rejection });
      if (group.length === 1 || rejection.reason === "denied") {
        for (const record of group) results.set(record, { rejection });
        return;
      }
      const half = Math.ceil(group.length / 2);
      await send(group.slice(0, half));
      await send(group.slice(half));
    }
  }

  for (const group of Map.groupBy(records, ({ topic, partition }) => `${topic}-${partition}`).values())
    for (const batch of splitIntoBatches(group, maxBytesPerPartition)) await send(batch);
  return records.map((record) => results.get(record) ?? failAsUnsent());
}

function failAsUnsent(): never {
  throw new Error("a record was not sent");
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
