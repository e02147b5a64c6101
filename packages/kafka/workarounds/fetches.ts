/**
 * Fault of kafkajs 2.2.4, broker/index.js:282: it fetches by name, which may return records of a log that was
 * deleted. For an offset out of range, consumer/consumerGroup.js:597 commits another offset for the group.
 * Another error of one partition keeps all others of the response from being read, or ends the consumer.
 * See docs/decisions/020-topic-ids.md and 009-aborted-transactions.md.
 * The test in test/workarounds/fetches.test.ts fails when kafkajs no longer needs this.
 */

import type { Batch } from "kafkajs";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { sleep } from "@topicsync/lib/platform";
import { errorCodes } from "../protocol/error-codes.ts";
import {
  canFetchById,
  knowsIdsOfLogs,
  requestFetch,
  type FetchedById,
  type FetchRequest,
} from "../protocol/fetch.ts";
import { hasTopicIds, requestMetadata } from "../protocol/metadata.ts";
import { createError, failOnError, type RequestTarget } from "../protocol/request.ts";
import { hideAborted, type FetchedMessage, type PartitionMessages } from "./aborted-transactions.ts";
import { decodeFetched } from "./bounded-fetches.ts";
import { patchMethod } from "./patch.ts";
import { readResponse } from "./connections.ts";

/** The part of the response for one partition. */
interface PartitionResponse extends PartitionMessages {
  readonly partition: number;
  readonly highWatermark: string;
  readonly preferredReadReplica: number;
}

interface FetchResponse {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly PartitionResponse[];
  }[];
}

interface Broker extends RequestTarget {
  readonly nodeId: number | string | null;
  fetch(request: FetchRequest): Promise<FetchResponse>;
}

/** Where the messages of one partition in a response come from. */
interface FetchOrigin {
  /** The id of the topic whose log was read; undefined if the broker cannot fetch by id. */
  readonly topicId: string | undefined;
  /**
   * The log does not have the requested offset. There is one message, a placeholder that is not delivered.
   */
  readonly isOutOfRange: boolean;
  /** The broker cannot read the partition at the moment. There is a placeholder then, too. */
  readonly failure?: Error | undefined;
}

/** What a batch of kafkajs has that its types omit. */
interface FetchedBatch extends Batch {
  readonly fetchedOffset: string;
  readonly rawMessages: object;
}

const origins = new WeakMap<object, FetchOrigin>();

/** Finds where a batch of kafkajs comes from. */
export function findOrigin(batch: Batch): FetchOrigin & { readonly fetchedFrom: number } {
  const { fetchedOffset, rawMessages } = batch as FetchedBatch;
  const origin = origins.get(rawMessages) ?? { topicId: undefined, isOutOfRange: false };
  return { ...origin, fetchedFrom: Number(fetchedOffset) };
}

/** Whether fetched messages stand for an offset that the log does not have. */
export const isPlaceholder = (messages: object): boolean => origins.get(messages)?.isOutOfRange === true;

/** Why the broker could not read the partition that these messages are of; undefined if it could. */
export const findFailure = (messages: object): Error | undefined => origins.get(messages)?.failure;

/**
 * The errors of a partition after which kafkajs asks for the leaders again, and a missing right, which is one
 * on the whole topic.
 */
const memberErrors = new Set<number>([
  errorCodes.unknownTopicOrPartition,
  errorCodes.leaderNotAvailable,
  errorCodes.notLeader,
  errorCodes.topicAuthorizationFailed,
  errorCodes.fencedLeaderEpoch,
  errorCodes.unknownLeaderEpoch,
]);

const lostTopicIds = new Set<number>([errorCodes.unknownTopicId, errorCodes.inconsistentTopicId]);

/**
 * Makes kafkajs fetch by topic id, in the whole process. An offset out of range becomes a placeholder, and
 * the records of aborted transactions are hidden.
 */
export function fetchByTopicId(): void {
  patchMethod<Broker, "fetch">("broker/index.js", "fetch", async (broker, fetchByName, request) => {
    const response =
      (await fetchById(broker, request)) ?? (await fetchNamed(() => fetchByName(request), request));
    await readResponse("Fetch", () => {
      checkRequested(response, request);
    });
    for (const { partitions } of response.responses) partitions.forEach(hideAborted);
    return response;
  });
}

/** The ids of topics by name, for each broker, because brokers may lag behind one another. */
const knownIds = new WeakMap<object, Map<string, string>>();

function getKnownIds(broker: Broker): Map<string, string> {
  const known = knownIds.get(broker) ?? new Map<string, string>();
  knownIds.set(broker, known);
  return known;
}

/** Asks the broker for ids that are not known yet. Returns false if it has none. Throws kafkajs' errors. */
async function learnIds(broker: Broker, { topics }: FetchRequest): Promise<boolean> {
  const ids = getKnownIds(broker);
  const unknown = topics.map(({ topic }) => topic).filter((topic) => !ids.has(topic));
  if (unknown.length === 0) return true;
  for (const { name, error, topicId } of (await requestMetadata(broker, [...new Set(unknown)])).topics) {
    failOnError(error);
    if (topicId === undefined) return false;
    ids.set(name, topicId);
  }
  return true;
}

/** Returns undefined if the broker cannot fetch by id. Throws kafkajs' errors. */
async function fetchById(broker: Broker, request: FetchRequest): Promise<FetchResponse | undefined> {
  if (!canFetchById(broker) || !hasTopicIds(broker) || !(await learnIds(broker, request))) return undefined;
  const known = getKnownIds(broker);
  // A copy, because another fetch may forget one before this is sent.
  const ids = new Map(request.topics.map(({ topic }) => [topic, known.get(topic) ?? ""]));
  const names = new Map([...ids].map(([topic, topicId]) => [topicId, topic]));
  const fetched = await requestFetch(broker, request, ids);
  await checkIds(broker, fetched, names);
  const complete = request.rackId === "" ? fetched : await awaitFollower(broker, fetched, names, request);
  return readResponse("Fetch", () => toResponse(complete, request, names));
}

/**
 * Throws UNKNOWN_TOPIC_OR_PARTITION if the broker does not have a topic of this id. kafkajs then joins the
 * group again.
 */
async function checkIds(
  broker: Broker,
  { error, topics }: FetchedById,
  names: ReadonlyMap<string, string>,
): Promise<void> {
  const ids = getKnownIds(broker);
  const forget = (topicId: string): void => void ids.delete(names.get(topicId) ?? "");
  const isLost = (code: number): boolean => lostTopicIds.has(code);
  const lost = topics.filter(({ partitions }) => partitions.some((partition) => isLost(partition.error)));
  for (const { topicId } of isLost(error) ? topics : lost) forget(topicId);
  if (isLost(error) || lost.length > 0) failOnError(errorCodes.unknownTopicOrPartition);
  failOnError(error);
  if (knowsIdsOfLogs(broker) || !topics.some(hasRecords)) return;
  // The log may have had no id yet. If the log was a new one, the broker knew the new id before it served the
  // fetch.
  const current = await requestMetadata(broker, [...names.values()]);
  for (const [topicId, name] of names) {
    if (current.topics.some((topic) => topic.name === name && topic.topicId === topicId)) continue;
    forget(topicId);
    failOnError(errorCodes.unknownTopicOrPartition);
  }
}

const hasRecords = ({ partitions }: FetchedById["topics"][number]): boolean =>
  partitions.some(({ records }) => records.length > 0);

/**
 * An offset may be out of range only because a follower does not have it yet. Waits then as long as a fetch
 * without records does, and returns none: kafkajs asks the follower again, and the leader from time to time.
 */
async function awaitFollower(
  broker: Broker,
  fetched: FetchedById,
  names: ReadonlyMap<string, string>,
  { maxWaitTime }: FetchRequest,
): Promise<FetchedById> {
  const isOutOfRange = ({ error }: { readonly error: number }) => error === errorCodes.offsetOutOfRange;
  if (!fetched.topics.some(({ partitions }) => partitions.some(isOutOfRange))) return fetched;
  const metadata = await requestMetadata(broker, [...names.values()]);
  const isLed = (name: string | undefined, partition: number): boolean =>
    metadata.topics
      .find((topic) => topic.name === name)
      ?.partitions.some((one) => one.partition === partition && one.leader === Number(broker.nodeId)) ?? true;
  await sleep(maxWaitTime);
  const topics = fetched.topics.map(({ topicId, partitions }) => ({
    topicId,
    partitions: partitions.map((one) =>
      isOutOfRange(one) && !isLed(names.get(topicId), one.partition)
        ? { ...one, error: 0, records: Buffer.alloc(0) }
        : one,
    ),
  }));
  return { ...fetched, topics };
}

async function toResponse(
  fetched: FetchedById,
  request: FetchRequest,
  names: ReadonlyMap<string, string>,
): Promise<FetchResponse> {
  const responses = [];
  for (const { topicId, partitions } of fetched.topics) {
    const topicName = names.get(topicId) ?? "";
    const decoded: PartitionResponse[] = [];
    for (const { partition, error, records, highWatermark, ...rest } of partitions) {
      const isOutOfRange = error === errorCodes.offsetOutOfRange;
      const failure = isOutOfRange ? undefined : toFailure(error);
      const messages =
        error === 0 ? await decodeFetched(records) : [createPlaceholder(request, topicName, partition)];
      origins.set(messages, { topicId, isOutOfRange, failure });
      const { abortedTransactions, preferredReadReplica } = rest;
      decoded.push({
        partition,
        highWatermark: String(highWatermark),
        abortedTransactions,
        preferredReadReplica,
        messages,
      });
    }
    responses.push({ topicName, partitions: decoded });
  }
  return { responses };
}

/** Why a partition cannot be read; undefined for no error. Throws errors that concern others, too. */
function toFailure(error: number): Error | undefined {
  if (memberErrors.has(error)) failOnError(error);
  if (error === 0) return undefined;
  const cause = createError(error);
  return new KafkaUnavailableError(`Kafka cannot read the partition: ${cause.message}`, { cause });
}

/** Fetches by name, and catches that an offset is out of range. Throws kafkajs' errors. */
async function fetchNamed(
  fetch: () => Promise<FetchResponse>,
  request: FetchRequest,
): Promise<FetchResponse> {
  try {
    return await fetch();
  } catch (error) {
    if (!isOutOfRangeError(error)) throw error;
    const { topic: topicName, partition } = error;
    const messages = [createPlaceholder(request, topicName, partition)];
    origins.set(messages, { topicId: undefined, isOutOfRange: true });
    const response = { partition, highWatermark: "-1", abortedTransactions: [], preferredReadReplica: -1 };
    return { responses: [{ topicName, partitions: [{ ...response, messages }] }] };
  }
}

/**
 * kafkajs takes every partition of a response for one that it requested, and goes on after its last offset.
 * Throws a RangeError.
 */
function checkRequested({ responses }: FetchResponse, request: FetchRequest): void {
  for (const { topicName, partitions } of responses)
    for (const { partition, messages } of partitions) {
      const asked = findRequested(request, topicName, partition);
      if (asked === undefined) throw new RangeError("it has a partition that was not requested");
      const last = messages?.at(-1)?.offset ?? asked.fetchOffset;
      if (BigInt(last) < BigInt(asked.fetchOffset))
        throw new RangeError("it ends before the requested offset");
    }
}

const findRequested = ({ topics }: FetchRequest, topic: string, partition: number) =>
  topics
    .filter((one) => one.topic === topic)
    .flatMap(({ partitions }) => partitions)
    .find((one) => one.partition === partition);

const isOutOfRangeError = (error: unknown): error is Error & { topic: string; partition: number } =>
  error instanceof Error && error.name === "KafkaJSOffsetOutOfRange";

/** kafkajs does not deliver control records, but reports a batch of them. */
function createPlaceholder(request: FetchRequest, topic: string, partition: number): FetchedMessage {
  const { fetchOffset = "0" } = findRequested(request, topic, partition) ?? {};
  return { offset: fetchOffset, key: null, isControlRecord: true };
}
