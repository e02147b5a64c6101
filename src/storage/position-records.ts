import type { Binary, Filter, UUID } from "mongodb";

import { currentDate } from "@topicsync/lib/platform";
import { FencedError, type Position, type PositionKey } from "@topicsync/kafka";
import type { Database } from "./database/database.ts";
import { collections } from "./names.ts";

export interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  /** Absent until the first batch is applied. */
  next_offset?: number;
  /** Absent for the first epoch. */
  epoch?: number;
  /**
   * Kafka's id of the topic that the offset belongs to. Absent in positions that a person set, or that are
   * from before ids.
   */
  kafka_topic_id?: string;
  /** Kafka's id of the cluster. Absent where brokers tell none, and in older positions. */
  kafka_cluster_id?: string;
  updated_on?: Date;
  /** The write that moved it last. A person who sets the position leaves the id of an earlier write. */
  moved_by?: UUID;
  /** The rank of the last dead letter that was stored; only for dead-letter topics. */
  last_rank?: number;
  /** The sessions in which owners of the partition write, the newest last. */
  sessions?: Binary[];
  /**
   * Different in each claim, so that a claim always changes the record and waits for a transaction that holds
   * it.
   */
  claim?: UUID;
}

export function fromRecord(record: PositionRecord): Position | undefined {
  const { next_offset, epoch, kafka_topic_id: topicId, kafka_cluster_id: clusterId } = record;
  if (next_offset === undefined) return undefined;
  return {
    offset: next_offset,
    epoch: epoch ?? 1,
    ...(topicId !== undefined && { topicId }),
    ...(clusterId !== undefined && { clusterId }),
  };
}

/** The fields that a move changes. What is not known of the log stays as it is. */
export const toFields = ({ offset, epoch, topicId, clusterId }: Position, movedBy: UUID) => ({
  next_offset: offset,
  updated_on: currentDate(),
  moved_by: movedBy,
  ...(epoch === 1 ? {} : { epoch }),
  ...(topicId === undefined ? {} : { kafka_topic_id: topicId }),
  ...(clusterId === undefined ? {} : { kafka_cluster_id: clusterId }),
});

/** The fields that another log must not inherit, for `$unset`. */
export const toAbsent = ({ topicId, clusterId }: Position) => ({
  ...(topicId === undefined && { kafka_topic_id: "" as const }),
  ...(clusterId === undefined && { kafka_cluster_id: "" as const }),
});

export const toId = ({ group, topic, partition }: PositionKey): PositionRecord["_id"] => ({
  group,
  topic,
  partition,
});

/** Finds the position if it is `from`. A filter for null also matches an absent field. */
export const toFilter = (key: PositionKey, from: Position | undefined): Filter<PositionRecord> =>
  ({
    _id: toId(key),
    next_offset: from?.offset ?? null,
    epoch: from === undefined || from.epoch === 1 ? null : from.epoch,
  }) as Filter<PositionRecord>;

export const createFencedError = (key: PositionKey, from: Position | undefined): FencedError =>
  new FencedError(`the position of ${formatKey(key)} is no longer ${from?.offset ?? "unset"}`);

export const formatKey = ({ group, topic, partition }: PositionKey): string =>
  `${topic}-${partition} in the group ${group}`;

/** Reads a position without taking the partition over. Throws UnavailableError. */
export const findPosition = (database: Database, key: PositionKey): Promise<Position | undefined> =>
  database.run(async () => {
    const positions = database.collection<PositionRecord>(collections.positions);
    const record = await positions.findOne({ _id: toId(key) });
    return record === null ? undefined : fromRecord(record);
  });

/** The positions of a group in the partitions of a Kafka topic. Throws UnavailableError. */
export const findPositions = (
  database: Database,
  group: string,
  topic: string,
): Promise<ReadonlyMap<number, Position>> =>
  database.run(async () => {
    const positions = database.collection<PositionRecord>(collections.positions);
    const records = await positions.find({ "_id.group": group, "_id.topic": topic }).toArray();
    const found = new Map<number, Position>();
    for (const record of records) {
      const position = fromRecord(record);
      if (position !== undefined) found.set(record._id.partition, position);
    }
    return found;
  });
