/** Single requests of a transactional producer, and what brokers answer. */
import { createBatch } from "../wire/batches.ts";
import {
  createRecords,
  nameError,
  produce,
  type BrokerIndex,
  type ClusterUnderTest,
  type Place,
} from "./cluster-under-test.ts";

export interface Producer {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
  /** Where it finds its coordinator; 0 by default. */
  readonly coordinator?: BrokerIndex;
}

interface InitialiseOptions {
  readonly coordinator?: BrokerIndex;
  readonly timeoutMs?: number;
}

/** Repeated while the last transaction is being completed. */
export async function initialise(
  { ask, until }: ClusterUnderTest,
  transactionalId: string,
  { coordinator = 0, timeoutMs: transactionTimeout = 600_000 }: InitialiseOptions = {},
): Promise<Producer> {
  let producer: Producer | undefined;
  await until("the producer is initialised", async () => {
    const { error, producerId, producerEpoch } = await ask(coordinator, "initProducerId1", {
      transactionalId,
      transactionTimeout,
    });
    if (error === 0) producer = { transactionalId, producerId, producerEpoch, coordinator };
    return error === 0;
  });
  if (producer === undefined) throw new Error("not initialised");
  return producer;
}

export const addPartition = async (
  { ask }: ClusterUnderTest,
  { coordinator = 0, ...identity }: Producer,
  topic: string,
  partition = 0,
) => {
  const { topics } = await ask(coordinator, "addPartitionsToTxn1", {
    ...identity,
    topics: [{ topic, partitions: [partition] }],
  });
  return nameError(topics[0]?.partitions[0]?.error ?? -1);
};

/** Repeated while the last transaction is being completed. */
export const untilAdded = async (
  cluster: ClusterUnderTest,
  producer: Producer,
  topic: string,
): Promise<void> =>
  cluster.until(
    "a transaction begins",
    async () => (await addPartition(cluster, producer, topic)) === "none",
  );

export const end = async (
  { ask }: ClusterUnderTest,
  { coordinator = 0, ...identity }: Producer,
  commit: boolean,
) => nameError((await ask(coordinator, "endTxn1", { ...identity, commit })).error);

/** Repeated while the end is being completed, until it is answered otherwise. */
export async function endCompleted(
  cluster: ClusterUnderTest,
  producer: Producer,
  commit: boolean,
): Promise<string> {
  let answer = "";
  await cluster.until("the transaction is completed", async () => {
    answer = await end(cluster, producer, commit);
    return answer !== "concurrentTransactions";
  });
  return answer;
}

export const addOffsets = async (
  { ask }: ClusterUnderTest,
  { coordinator = 0, ...identity }: Producer,
  groupId: string,
) => nameError((await ask(coordinator, "addOffsetsToTxn1", { ...identity, groupId })).error);

/** Adds an offset of partition 0 to a transaction, at the coordinator of the group. */
export const commitOffsets = async (
  { ask }: ClusterUnderTest,
  producer: Producer,
  groupId: string,
  topic: string,
  offset: number,
) => {
  const { topics } = await ask(0, "txnOffsetCommit1", {
    ...{ ...producer, groupId },
    topics: [{ topic, partitions: [{ partition: 0, offset, metadata: "m" }] }],
  });
  return nameError(topics[0]?.partitions[0]?.error ?? -1);
};

export const send = (
  cluster: ClusterUnderTest,
  producer: Producer,
  place: Place,
  { firstSequence, values }: { readonly firstSequence: number; readonly values: readonly string[] },
) =>
  produce(
    cluster,
    place,
    createBatch(createRecords(values), { ...producer, firstSequence, isTransactional: true }),
    producer.transactionalId,
  );
