import type { Message, RecordMetadata, TopicMessages, Transaction } from "kafkajs";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { elapsed } from "@topicsync/lib/platform";
import { RecordRejectedError, type RoutedRecord } from "./interface/routing-transactions.ts";
import type { SendRejection, SendResult } from "./interface/records.ts";
import { findSendRejection, hasType } from "./errors.ts";
import {
  canShareBatch,
  estimateBytes,
  maxBytesPerBatch,
  splitIntoRecordBatches,
  toMessage,
} from "./outgoing-records.ts";
import { toMessages } from "./workarounds/produce-encoder.ts";

const maxBytesPerRequest = 4 * 1024 * 1024;
/** How long a topic counts as compacted. */
const compactedForMs = 60_000;

type TopicLimits = ReturnType<typeof createTopicLimits>;

/**
 * Creates the record of what Kafka topics were found to reject, so that each costs a few rejected requests
 * only once.
 */
export function createTopicLimits() {
  const maxBytes = new Map<string, number>();
  const keyRules = new Map<string, { readonly rejection: SendRejection; readonly until: number }>();
  return {
    /** The size of the largest record batch to send to a topic. */
    getMaxBytes: (topic: string): number => maxBytes.get(topic) ?? maxBytesPerBatch,
    /** To be called with the size of several records that were too large as one batch. */
    onTooLarge(topic: string, bytes: number) {
      maxBytes.set(topic, Math.min(maxBytes.get(topic) ?? Infinity, Math.ceil(bytes / 2)));
    },
    /** Why the topic accepts no record without a key; undefined if it may. */
    findKeyRule(topic: string): SendRejection | undefined {
      const rule = keyRules.get(topic);
      return rule !== undefined && rule.until > elapsed() ? rule.rejection : undefined;
    },
    /** To be called when a single record without a key was rejected because of that. */
    onKeyMissing(topic: string, rejection: SendRejection) {
      keyRules.set(topic, { rejection, until: elapsed() + compactedForMs });
    },
  };
}

/** What a request sends, by Kafka topic. */
type Request = ReadonlyMap<string, TopicRequest>;

/** Sends the messages of one request. A rejection may concern only some of them. */
export async function sendAll(transaction: Transaction, request: Request): Promise<void> {
  try {
    const acknowledged = await transaction.sendBatch({ acks: -1, topicMessages: toTopicMessages(request) });
    checkAcknowledged(request, acknowledged);
  } catch (error) {
    const rejection = findRejection(error);
    throw rejection === undefined ? error : new RecordRejectedError(rejection);
  }
}

/**
 * Throws unless every partition was acknowledged: kafkajs 2.2.4 silently leaves out those that its metadata
 * lacks. Nothing counts as sent that was not acknowledged by partition.
 */
function checkAcknowledged(request: Request, acknowledged: readonly RecordMetadata[]): void {
  const found = new Set(acknowledged.map(({ topicName, partition }) => `${topicName}-${partition}`));
  for (const [topic, { byPartition }] of request)
    for (const partition of Object.keys(byPartition))
      if (!found.has(`${topic}-${partition}`)) throw createUnacknowledgedError(topic, Number(partition));
}

const createUnacknowledgedError = (topic: string, partition: number): KafkaUnavailableError =>
  new KafkaUnavailableError(`Kafka did not acknowledge records for partition ${partition} of ${topic}`);

/**
 * Why records are rejected. A topic that the user may not write to counts as well, so that it does not hold
 * up others.
 */
function findRejection(error: unknown): SendRejection | undefined {
  if (!hasType(error, "TOPIC_AUTHORIZATION_FAILED", "OPERATION_NOT_ATTEMPTED"))
    return findSendRejection(error);
  return { reason: "denied", message: "Kafka denies its user Write on it" };
}

/** What a request sends to a Kafka topic. */
interface TopicRequest {
  readonly byPartition: Record<number, Message[]>;
  readonly bytesByPartition: Record<number, number>;
}

/** Splits records into requests of limited size, overall and for each partition. */
export function* splitIntoRequests(records: Iterable<RoutedRecord>, limits: TopicLimits): Generator<Request> {
  let topics = new Map<string, TopicRequest>();
  let totalBytes = 0;
  let first: RoutedRecord | undefined;
  for (const record of records) {
    const { topic, partition } = record;
    const bytes = estimateBytes(record);
    first ??= record;
    let request = topics.get(topic);
    const isFull =
      (request?.bytesByPartition[partition] ?? 0) + bytes > limits.getMaxBytes(topic) ||
      totalBytes + bytes > maxBytesPerRequest;
    if (totalBytes > 0 && (isFull || !canShareBatch(first, record))) {
      yield topics;
      topics = new Map();
      totalBytes = 0;
      first = record;
      request = undefined;
    }
    if (request === undefined) {
      request = { byPartition: {}, bytesByPartition: {} };
      topics.set(topic, request);
    }
    (request.byPartition[partition] ??= []).push(toMessage(record));
    request.bytesByPartition[partition] = (request.bytesByPartition[partition] ?? 0) + bytes;
    totalBytes += bytes;
  }
  if (totalBytes > 0) yield topics;
}

const toTopicMessages = (request: Request): TopicMessages[] =>
  [...request].map(([topic, { byPartition }]) => ({ topic, messages: toMessages(byPartition) }));

/**
 * Sends the records of each partition in requests of their own: the broker accepts or rejects such a request
 * as a whole, and kafkajs numbers the records after a rejection correctly. A rejected request is halved until
 * the record is found. Records that are known to be rejected are not sent: all records for a topic that the
 * user may not write to, and records without a key for a compacted topic.
 *
 * `isFirst`: whether it is the producer's first transaction. In later ones kafkajs looks up all topics that
 * the producer has used, and a denial may concern a topic that the records are not for, so it is thrown.
 */
export async function sendEach(
  transaction: Transaction,
  records: readonly RoutedRecord[],
  { limits, isFirst }: { readonly limits: TopicLimits; readonly isFirst: boolean },
): Promise<readonly SendResult[]> {
  const results = new Map<RoutedRecord, SendResult>();
  const denials = new Map<string, SendRejection>();

  const findRule = ({ topic, key }: RoutedRecord): SendRejection | undefined =>
    denials.get(topic) ?? (key === null ? limits.findKeyRule(topic) : undefined);

  /** Leaves the records that are known to be rejected. */
  function takeAcceptable(group: readonly RoutedRecord[]): readonly RoutedRecord[] {
    return group.filter((record) => {
      const rejection = findRule(record);
      if (rejection !== undefined) results.set(record, { rejection });
      return rejection === undefined;
    });
  }

  async function send(records: readonly RoutedRecord[]): Promise<void> {
    const group = takeAcceptable(records);
    const [first] = group;
    if (first === undefined) return;
    const { topic, partition } = first;
    try {
      const [acknowledged] = await transaction.send({ topic, acks: -1, messages: group.map(toMessage) });
      if (acknowledged === undefined) throw createUnacknowledgedError(topic, partition);
      const baseOffset = Number(acknowledged.baseOffset);
      for (const [index, record] of group.entries())
        results.set(record, { partition, offset: baseOffset + index });
    } catch (error) {
      const rejection = findRejection(error);
      if (rejection === undefined || (rejection.reason === "denied" && !isFirst)) throw error;
      if (rejection.reason === "denied") denials.set(topic, rejection);
      else if (group.length === 1) {
        if (first.key === null && hasType(error, "INVALID_RECORD")) limits.onKeyMissing(topic, rejection);
        results.set(first, { rejection });
        return;
      }
      if (rejection.reason === "too-large") limits.onTooLarge(topic, sum(group.map(estimateBytes)));
      const half = Math.ceil(group.length / 2);
      await send(group.slice(0, half));
      await send(group.slice(half));
    }
  }

  for (const group of Map.groupBy(records, ({ topic, partition }) => `${topic}-${partition}`).values()) {
    const maxBytes = limits.getMaxBytes(group[0]?.topic ?? "");
    for (const batch of splitIntoRecordBatches(group, maxBytes)) await send(batch);
  }
  return records.map((record) => {
    const result = results.get(record);
    invariant(result !== undefined, "every record is acknowledged or rejected");
    return result;
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
