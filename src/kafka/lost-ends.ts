/**
 * Fault of Kafka 4 (KAFKA-20734, seen in 4.3.1): a coordinator of transactions takes a partition that has no
 * leader at the moment for a deleted one. It reports the transaction as complete, although the partition has
 * not got the marker that ends it. An offset without a marker stays unstable for ever.
 * The test in test/integration/two-brokers/lost-ends.ts shows it.
 */

import { elapsed, sleep } from "../lib/platform.ts";
import { hasType } from "./errors.ts";
import { fetchMetadata, findBroker, type Cluster } from "./log-requests.ts";
import { requestStableOffset, type OffsetQuery } from "./protocol/offset-fetch.ts";
import type { RequestTarget } from "./protocol/request.ts";
import {
  canDescribeTransactions,
  requestOpenPartitions,
  requestTransaction,
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

/** The transactions of a transactional id, each of which moves this offset. */
export interface TransactionQuery extends OffsetQuery {
  readonly transactionalId: string;
}

export type TransactionEnd = "committed" | "aborted";

const transactionCoordinator = 1;
/** Becomes part of a transaction with the offsets of a group only. */
const offsetsTopic = "__consumer_offsets";
/** For the transaction that only writes the missing markers. */
const timeoutMs = 60_000;
/** How long the offset of a complete transaction may be unstable. Usually it takes milliseconds. */
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

/**
 * Ends the last transaction, in the way in which it ended, wherever its end is missing. Must be called before
 * the producer is initialised, which erases how it ended. Returns undefined if nothing is missing. Throws
 * kafkajs' errors.
 */
export async function restoreEnd(
  cluster: Cluster,
  query: TransactionQuery,
): Promise<TransactionEnd | undefined> {
  if (!canDescribeTransactions(cluster.brokerPool)) return undefined;
  const { transactionalId, groupId } = query;
  const coordinator = (await cluster.findGroupCoordinator({
    groupId: transactionalId,
    coordinatorType: transactionCoordinator,
  })) as TransactionCoordinator;
  const last = await findLostEnd(cluster, coordinator, query);
  if (last === undefined) return undefined;

  const open = await findOpenPartitions(cluster, last.producerId);
  const ids = await coordinator.initProducerId({ transactionalId, transactionTimeout: timeoutMs });
  const producer = { transactionalId, ...ids };
  if (open.length > 0) await coordinator.addPartitionsToTxn({ ...producer, topics: open });
  await coordinator.addOffsetsToTxn({ ...producer, groupId });
  await coordinator.endTxn({ ...producer, transactionResult: last.end === "committed" });
  return last.end;
}

/** Returns how the transaction ended if its offset stays unstable, and its producer. */
async function findLostEnd(cluster: Cluster, coordinator: TransactionCoordinator, query: TransactionQuery) {
  const startedAt = elapsed();
  for (;;) {
    const last = await requestTransaction(coordinator, query.transactionalId);
    const end = ends[last.state];
    if (end === undefined || (await isStable(cluster, query))) return undefined;
    if (elapsed() - startedAt >= graceMs) return { end, producerId: last.producerId };
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

/** Finds the partitions in which a producer has records of a transaction without an end. */
async function findOpenPartitions(cluster: Cluster, producerId: string): Promise<TopicPartitions[]> {
  const { topics } = await fetchMetadata(cluster, null);
  const others = topics.filter(({ name }) => name !== offsetsTopic);
  const partitions = others.flatMap(({ name, partitions: all }) =>
    all
      .filter(({ leader }) => leader >= 0)
      .map(({ partition, leader }) => ({ topic: name, partition, leader })),
  );
  const found = [...Map.groupBy(partitions, ({ leader }) => leader)].map(async ([leader, led]) =>
    requestOpenPartitions(await findBroker(cluster, leader), groupByTopic(led), producerId),
  );
  return (await Promise.all(found)).flat();
}

const groupByTopic = (
  partitions: readonly { readonly topic: string; readonly partition: number }[],
): TopicPartitions[] =>
  [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, some]) => ({
    topic,
    partitions: some.map(({ partition }) => partition),
  }));
