import { MongoClient, type Db } from "mongodb";

/** How far the service has come, as it says itself in the database. */
export interface Positions {
  readonly db: Db;
  /** Looks the positions up; while the store is away, what was seen last stands. */
  look(): Promise<void>;
  of(partition: number): number;
  /** Of all partitions together. */
  total(): number;
  close(): Promise<void>;
}

/** Watches the positions of a group in a database. */
export function watchPositions(uri: string, group: string): Positions {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 1_000, socketTimeoutMS: 5_000 });
  const db = client.db();
  const records = db.collection<{ _id: { group: string; partition: number }; next_offset?: number }>(
    "topicsync_positions",
  );
  const seen = new Map<number, number>();

  return {
    db,
    async look() {
      const found = await records
        .find({ "_id.group": group })
        .toArray()
        .catch(() => []);
      for (const { _id, next_offset: offset } of found) seen.set(_id.partition, offset ?? 0);
    },
    of: (partition) => seen.get(partition) ?? 0,
    total: () => [...seen.values()].reduce((sum, offset) => sum + offset, 0),
    close: () => client.close(),
  };
}
