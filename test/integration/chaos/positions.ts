import { MongoClient, type Db } from "mongodb";

export interface Positions {
  readonly db: Db;
  /** Reads the positions; keeps the last ones while the store is down. */
  refresh(): Promise<void>;
  get(partition: number): number;
  /** The sum over all partitions. */
  total(): number;
  close(): Promise<void>;
}

export function watchPositions(uri: string, group: string): Positions {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 1_000, socketTimeoutMS: 5_000 });
  const db = client.db();
  const records = db.collection<{ _id: { group: string; partition: number }; next_offset?: number }>(
    "topicsync_positions",
  );
  const seen = new Map<number, number>();

  return {
    db,
    async refresh() {
      const found = await records
        .find({ "_id.group": group })
        .toArray()
        .catch(() => []);
      for (const { _id, next_offset: offset } of found) seen.set(_id.partition, offset ?? 0);
    },
    get: (partition) => seen.get(partition) ?? 0,
    total: () => [...seen.values()].reduce((sum, offset) => sum + offset, 0),
    close: () => client.close(),
  };
}
