/**
 * Fault of Kafka 4 (KAFKA-20734, seen in 4.3.1): a coordinator of transactions takes a partition that has no
 * leader at the moment for a deleted one. It reports the transaction as complete, although the partition has
 * not got the marker that ends it. An offset without a marker stays unstable for ever.
 * The test in test/integration/two-brokers/lost-ends.ts shows it.
 */

import { elapsed, sleep } from "@topicsync/lib/platform";
import type { RouterConfig } from "./interface/config.ts";
import { createEgressNaming } from "./interface/egress-naming.ts";
import { hasType } from "./errors.ts";
import { fetchMetadata, findBroker, type Cluster } from "./log-requests.ts";
import { requestStableOffset, type OffsetQuery } from "./protocol/offset-fetch.ts";
import type { RequestTarget } from "./protocol/request.ts";
import {
  canDescribeTransactions,
  requestOpenPartitions,
  requestTransaction,
  type OpenPartitions,
  type TopicPartitions,
} from "./protocol/transactions.ts";

/** The parts of kafkajs' brokers that run transactions. */
export interface TransactionCoordinator extends RequestTarget {
  initProducerId(request: {
    readonly transactionalId: string;
    readonly transactionTimeout: number;
  }): Promise<{ readonly producerId: string; readonly producerEpoch: number }>;
  addPartitionsToTxn(
    request: ProducerRequest & { readonly topics: readonly TopicPartitions[] },
  ): Promise<void>;
  addOffsetsToTxn(request: ProducerRequest & { readonly groupId: string }): Promise<void>;
  endTxn(request: ProducerRequest & { readonly transactionResult: boolean }): Promise<void>;
}

interface ProducerRequest {
  readonly transactionalId: string;
  readonly producerId: string;
  readonly producerEpoch: number;
}

/** Whether the transactions of the router may write to a Kafka topic. */
export type OutputCheck = (topic: string) => boolean;

/** The transactions of a transactional id, each of which moves this offset. */
export interface TransactionQuery extends OffsetQuery {
  readonly transactionalId: string;
  readonly isOutput: OutputCheck | undefined;
}

export type TransactionEnd = "committed" | "aborted";

export interface RestoredEnd {
  /** How the transaction ended; undefined if its end was not missing. */
  readonly end: TransactionEnd | undefined;
  /** The Kafka topics in which it may be missing all the same: the user may not read them. */
  readonly denied: readonly string[];
}

const transactionCoordinator = 1;
/** Becomes part of a transaction with the offsets of a group only. */
const offsetsTopic = "__consumer_offsets";
/** For the transaction that only writes the missing markers. */
const timeoutMs = 60_000;
/** How long a complete transaction may seem to have no end. Usually it takes milliseconds. */
const graceMs = 3_000;
const pollMs = 100;

/**
 * How the transactions in these states ended. `Empty` is what is left if this was interrupted: how the
 * transaction ended is not known any more, and nothing is lost if its events are forwarded again.
 */
const ends: Readonly<Record<string, TransactionEnd>> = {
  CompleteCommit: "committed",
  CompleteAbort: "aborted",
  Empty: "aborted",
};

export function createOutputCheck(router: RouterConfig): OutputCheck {
  const { egressTopic, deadLetterTopic, unmatchedTopic } = router;
  const { matches } = createEgressNaming(egressTopic, new Set());
  return (topic) => topic === deadLetterTopic || topic === unmatchedTopic || matches(topic);
}

/**
 * Ends the last transaction, in the way in which it ended, wherever its end is missing. Must be called before
 * the producer is initialised, which erases how it ended. Throws kafkajs' errors.
 */
export async function restoreEnd(cluster: Cluster, query: TransactionQuery): Promise<RestoredEnd> {
  const nothing = { end: undefined, denied: [] };
  if (!canDescribeTransactions(cluster.brokerPool)) return nothing;
  const { transactionalId, groupId } = query;
  const coordinator = (await cluster.findGroupCoordinator({
    groupId: transactionalId,
    coordinatorType: transactionCoordinator,
  })) as TransactionCoordinator;
  const last = await findLostEnd(cluster, coordinator, query);
  if (last === undefined) return nothing;
  const { end, producerId, open, denied, isOffsetLost } = last;
  if (open.length === 0 && !isOffsetLost) return { end: undefined, denied };

  const ids = await coordinator.initProducerId({ transactionalId, transactionTimeout: timeoutMs });
  const producer = { transactionalId, ...ids };
  if (open.length > 0) await coordinator.addPartitionsToTxn({ ...producer, topics: open });
  if (isOffsetLost) await coordinator.addOffsetsToTxn({ ...producer, groupId });
  await coordinator.endTxn({ ...producer, transactionResult: end === "committed" });
  // Markers of another producer end nothing: the epochs of the former one were used up.
  return { end: ids.producerId === producerId ? end : undefined, denied };
}

/** A transaction that has ended, and where its end is missing. */
interface LostEnd extends OpenPartitions {
  readonly end: TransactionEnd;
  readonly producerId: string;
  readonly isOffsetLost: boolean;
}

/** Finds where the end of the last transaction stays missing; undefined if nobody can know how it ended. */
async function findLostEnd(
  cluster: Cluster,
  coordinator: TransactionCoordinator,
  query: TransactionQuery,
): Promise<LostEnd | undefined> {
  const startedAt = elapsed();
  for (;;) {
    const { state, ...last } = await requestTransaction(coordinator, query.transactionalId);
    const end = ends[state];
    if (end === undefined) return undefined;
    const isOffsetLost = !(await isStable(cluster, query));
    const isOver = elapsed() - startedAt >= graceMs;
    if (!isOffsetLost && (state === "Empty" || query.isOutput === undefined)) return undefined;
    if (isOver || !isOffsetLost) {
      const found = await findOpenPartitions(cluster, last, { ...query, isOffsetLost });
      if (isOver || found.open.length === 0) return { ...found, ...last, end, isOffsetLost };
    }
    await sleep(pollMs);
  }
}

async function isStable(cluster: Cluster, query: OffsetQuery): Promise<boolean> {
  try {
    await requestStableOffset(await cluster.findGroupCoordinator({ groupId: query.groupId }), query);
    return true;
  } catch (error) {
    if (hasType(error, "UNSTABLE_OFFSET_COMMIT")) return false;
    throw error;
  }
}

/**
 * Finds the partitions in which a producer has records of its last transaction without an end. With the
 * offset, all its transactions since the last stable offset have lost their end, wherever they wrote to.
 */
async function findOpenPartitions(
  cluster: Cluster,
  { producerId, producerEpoch }: { readonly producerId: string; readonly producerEpoch: number },
  {
    isOffsetLost,
    isOutput = () => false,
  }: { readonly isOffsetLost: boolean; readonly isOutput?: OutputCheck | undefined },
): Promise<OpenPartitions> {
  const { topics } = await fetchMetadata(cluster, null);
  const others = topics.filter(({ name }) => (isOffsetLost ? name !== offsetsTopic : isOutput(name)));
  const partitions = others.flatMap(({ name, partitions: all }) =>
    all
      .filter(({ leader }) => leader >= 0)
      .map(({ partition, leader }) => ({ topic: name, partition, leader })),
  );
  const query = { producerId, minEpoch: isOffsetLost ? -1 : producerEpoch - 1 };
  const found = await Promise.all(
    [...Map.groupBy(partitions, ({ leader }) => leader)].map(async ([leader, led]) =>
      requestOpenPartitions(await findBroker(cluster, leader), groupByTopic(led), query),
    ),
  );
  return {
    open: found.flatMap(({ open }) => open),
    denied: [...new Set(found.flatMap(({ denied }) => denied))].filter(isOutput),
  };
}

const groupByTopic = (
  partitions: readonly { readonly topic: string; readonly partition: number }[],
): TopicPartitions[] =>
  [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, some]) => ({
    topic,
    partitions: some.map(({ partition }) => partition),
  }));
