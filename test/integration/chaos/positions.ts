import type { Admin } from "kafkajs";
import { MongoClient, type Db } from "mongodb";

/** How far a group has read a topic. */
export interface Positions {
  /** Reads the positions; keeps the last ones during an outage. */
  refresh(): Promise<void>;
  get(partition: number): number;
  /** The sum over all partitions. */
  total(): number;
}

export interface StoredPositions extends Positions {
  readonly db: Db;
  close(): Promise<void>;
}

/** The positions that are stored with the topics. */
export function watchStoredPositions(uri: string, group: string): StoredPositions {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 1_000, socketTimeoutMS: 5_000 });
  const db = client.db();
  const records = db.collection<{ _id: { group: string; partition: number }; next_offset?: number }>(
    "topicsync_positions",
  );
  const positions = createPositions(async () => {
    const found = await records.find({ "_id.group": group }, { readConcern: "majority" }).toArray();
    return found.map(({ _id, next_offset: offset }) => [_id.partition, offset ?? 0]);
  });
  return { ...positions, db, close: () => client.close() };
}

/** Kafka's brokers need not answer more often. */
const minIntervalMs = 100;

/** The offsets that a consumer group has committed. */
export function watchCommittedOffsets(admin: Admin, read: { groupId: string; topic: string }): Positions {
  const { groupId, topic } = read;
  let readAt = 0;
  return createPositions(async () => {
    if (Date.now() - readAt < minIntervalMs) return [];
    readAt = Date.now();
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return (found?.partitions ?? []).map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]);
  });
}

function createPositions(read: () => Promise<(readonly [partition: number, offset: number])[]>): Positions {
  const seen = new Map<number, number>();
  return {
    async refresh() {
      for (const [partition, offset] of await read().catch(() => [])) seen.set(partition, offset);
    },
    get: (partition) => seen.get(partition) ?? 0,
    total: () => [...seen.values()].reduce((sum, offset) => sum + offset, 0),
  };
}
