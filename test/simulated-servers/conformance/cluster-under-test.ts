/**
 * What a scene needs of a cluster with two brokers, real or simulated. It observes responses to single
 * requests.
 */
import type { CoordinatorKind } from "../kafka/coordination.ts";
import { codes } from "../kafka/errors.ts";
import { createBatch, readHeader, readRecords, type BatchRecord } from "../wire/batches.ts";
import type { MessageName, Request, Response } from "../wire/messages.ts";

/**
 * What a real and a simulated cluster must play alike: it returns codes and values that do not depend on the
 * cluster.
 */
export interface ClusterScene {
  readonly name: string;
  readonly play: (cluster: ClusterUnderTest) => Promise<unknown>;
}

/** The first one coordinates all groups and transactions when a scene begins. */
export type BrokerIndex = 0 | 1;

export interface ClusterUnderTest {
  readonly ask: <Name extends MessageName>(
    broker: BrokerIndex,
    name: Name,
    body: Request<Name>,
  ) => Promise<Response<Name>>;
  /** A name that no other scene uses. */
  readonly name: (text: string) => string;
  readonly toIndex: (nodeId: number) => number;
  /**
   * Creates a topic, and waits until both brokers know it. Partition 0 is led by broker 0, 1 by 1, 2 by 0,
   * and so on.
   */
  readonly createTopic: (name: string, partitions: number, settings?: Settings) => Promise<void>;
  readonly grow: (topic: string, partitions: number) => Promise<void>;
  readonly deleteTopic: (topic: string) => Promise<void>;
  readonly deleteBefore: (topic: string, partition: number, offset: number) => Promise<void>;
  /** Only the new leader has the partition then. */
  readonly moveLeader: (topic: string, partition: number, to: BrokerIndex) => Promise<void>;
  /** Lets the broker that does not lead a partition have a copy of it. */
  readonly addCopy: (topic: string, partition: number) => Promise<void>;
  /** Lets a broker coordinate all groups or all transactions. The other one has a copy of what it stores. */
  readonly moveCoordinator: (kind: CoordinatorKind, to: BrokerIndex) => Promise<void>;
  /** Kafka's tool sets the offset of partition 0 of a group without members. */
  readonly setOffset: (groupId: string, topic: string, offset: number) => Promise<void>;
  /** Kafka's tool deletes it. */
  readonly deleteOffset: (groupId: string, topic: string) => Promise<void>;
  /** Commits one that expires some time later. */
  readonly expireOffset: (groupId: string, topic: string) => Promise<void>;
  /** Kills a broker. The other one takes over some time later. */
  readonly kill: (broker: BrokerIndex) => Promise<void>;
  /** Starts a broker again. */
  readonly start: (broker: BrokerIndex) => Promise<void>;
  /**
   * Partition 0, which broker 0 leads and both have, loses what is written in the meantime to the given
   * leader: an unclean election.
   */
  readonly loseEnd: (
    topics: readonly string[],
    write: (leader: BrokerIndex) => Promise<void>,
  ) => Promise<void>;
  /** Broker 1 hears of no changes while `during` runs. */
  readonly isolate: (during: () => Promise<void>) => Promise<void>;
  readonly until: (what: string, isMet: () => boolean | Promise<boolean>) => Promise<void>;
}

export type Settings = Readonly<Record<string, string>>;

export const startOfTime = 1_700_000_000_000;

const names = new Map<number, string>(Object.entries(codes).map(([name, code]) => [code, name]));
/** The name of an error code; the number of one that the simulated cluster does not have. */
export const nameError = (code: number): string => names.get(code) ?? String(code);

interface RecordOptions {
  readonly key?: string | null;
  readonly at?: number;
}

export const createRecords = (
  values: readonly string[],
  { key = null, at = 0 }: RecordOptions = {},
): BatchRecord[] =>
  values.map((value, offsetDelta) => ({
    offsetDelta,
    timestamp: startOfTime + at,
    key: key === null ? null : Buffer.from(key),
    value: Buffer.from(value),
    headers: [],
  }));

export interface Place {
  readonly broker?: BrokerIndex;
  readonly topic: string;
  readonly partition?: number;
}

/** Produces a batch as it is. */
export async function produce(
  { ask }: ClusterUnderTest,
  { broker = 0, topic, partition = 0 }: Place,
  records: Buffer,
  transactionalId: string | null = null,
): Promise<{ readonly error: string; readonly baseOffset: number }> {
  const { topics } = await ask(broker, "produce7", {
    transactionalId,
    acks: -1,
    timeout: 5_000,
    topics: [{ topic, partitions: [{ partition, records }] }],
  });
  const { error = -1, baseOffset = -1 } = topics[0]?.partitions[0] ?? {};
  return { error: nameError(error), baseOffset };
}

export const append = (cluster: ClusterUnderTest, place: Place, ...values: string[]) =>
  produce(cluster, place, createBatch(createRecords(values)));

type Fetched = Response<"fetch11">["topics"][number]["partitions"][number];

const limits = { maxWaitMs: 0, minBytes: 0, maxBytes: 1_000_000, sessionId: 0, sessionEpoch: -1 };

/** Every entry of what was fetched, and the offset after it. */
function readEntries(records: Buffer, from: number) {
  const values: string[] = [];
  let end = from;
  for (let at = 0; at < records.length;) {
    const batch = records.subarray(at, at + 12 + records.readInt32BE(at + 8));
    const { baseOffset, lastOffsetDelta, isControl } = readHeader(batch);
    const texts = readRecords(batch).map(({ offsetDelta, value }) =>
      isControl ? `${baseOffset} marker` : `${baseOffset + offsetDelta} ${String(value)}`,
    );
    values.push(...texts);
    at += batch.length;
    end = baseOffset + lastOffsetDelta + 1;
  }
  return { values, end };
}

interface FetchOptions {
  readonly from?: number;
  readonly isolationLevel?: number;
}

/** Fetches until nothing comes any more: how much a broker sends at once is left to it. */
async function fetchToEnd(from: number, fetchFrom: (offset: number) => Promise<Fetched | undefined>) {
  const values: string[] = [];
  const abortedFrom = new Set<number>();
  for (let offset = from; ;) {
    const fetched = await fetchFrom(offset);
    if (fetched === undefined) return undefined;
    const { error, highWatermark, lastStableOffset, logStartOffset, aborted, records } = fetched;
    const read = readEntries(records, offset);
    values.push(...read.values);
    for (const { firstOffset } of aborted ?? []) abortedFrom.add(firstOffset);
    if (read.end === offset)
      return {
        error: nameError(error),
        bounds: [logStartOffset, lastStableOffset, highWatermark],
        aborted: [...abortedFrom],
        values,
      };
    offset = read.end;
  }
}

/** Fetches by name. */
export const fetchByName = (
  { ask }: ClusterUnderTest,
  { broker = 0, topic, partition = 0 }: Place,
  { from = 0, isolationLevel = 1 }: FetchOptions = {},
) =>
  fetchToEnd(from, async (fetchOffset) => {
    const one = { partition, leaderEpoch: -1, fetchOffset, logStartOffset: -1, maxBytes: 1_000_000 };
    const { topics } = await ask(broker, "fetch11", {
      ...{ ...limits, replicaId: -1, isolationLevel, forgotten: [], rackId: "" },
      topics: [{ topic, partitions: [one] }],
    });
    return topics[0]?.partitions[0];
  });

/** Fetches by topic id. */
export const fetchById = (
  { ask }: ClusterUnderTest,
  { broker = 0, topic: topicId, partition = 0 }: Place,
  { from = 0, isolationLevel = 1 }: FetchOptions = {},
) =>
  fetchToEnd(from, async (fetchOffset) => {
    const one = { partition, leaderEpoch: -1, fetchOffset, lastFetchedEpoch: -1, logStartOffset: -1 };
    const { topics } = await ask(broker, "fetch13", {
      ...{ ...limits, replicaId: -1, isolationLevel, forgotten: [], rackId: "" },
      topics: [{ topicId, partitions: [{ ...one, maxBytes: 1_000_000 }] }],
    });
    return topics[0]?.partitions[0];
  });

/** The offset that ListOffsets finds for a time, -1 for the end and -2 for the beginning. */
export async function listOffset(
  { ask }: ClusterUnderTest,
  { broker = 0, topic, partition = 0 }: Place,
  timestamp: number,
  isolationLevel = 1,
) {
  const { topics } = await ask(broker, "listOffsets3", {
    replicaId: -1,
    isolationLevel,
    topics: [{ topic, partitions: [{ partition, timestamp }] }],
  });
  const found = topics[0]?.partitions[0];
  return found === undefined ? undefined : { ...found, error: nameError(found.error) };
}

/** What a broker tells of a topic. */
export async function describeTopic({ ask, toIndex }: ClusterUnderTest, broker: BrokerIndex, topic: string) {
  const { topics } = await ask(broker, "metadata12", {
    topics: [{ topicId: "A".repeat(22), topic }],
    allowAutoTopicCreation: false,
    includeTopicOperations: false,
  });
  const [found] = topics;
  if (found === undefined) throw new Error("no topic in the response");
  return {
    error: nameError(found.error),
    topicId: found.topicId,
    // The protocol promises no order.
    partitions: found.partitions
      .map(({ error, partition, leader, leaderEpoch }) => ({
        error: nameError(error),
        partition,
        leader: toIndex(leader),
        leaderEpoch,
      }))
      .toSorted((one, other) => one.partition - other.partition),
  };
}

const coordinatorTypes: Readonly<Record<CoordinatorKind, number>> = { group: 0, transaction: 1 };

/** Which broker coordinates a group or a transactional id, as a broker knows it. */
export async function findCoordinator(
  { ask, toIndex }: ClusterUnderTest,
  broker: BrokerIndex,
  kind: CoordinatorKind,
  key: string,
) {
  const { error, nodeId } = await ask(broker, "findCoordinator2", { key, type: coordinatorTypes[kind] });
  return { error: nameError(error), nodeId: toIndex(nodeId) };
}

/** The errors of all requests that reach a log. */
export async function tryLog(cluster: ClusterUnderTest, place: Place, topicId: string) {
  return {
    produced: (await append(cluster, place, "x")).error,
    fetched: (await fetchByName(cluster, place))?.error,
    fetchedById: (await fetchById(cluster, { ...place, topic: topicId }))?.error,
    listed: (await listOffset(cluster, place, -1))?.error,
  };
}
