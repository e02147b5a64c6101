import type { Binary, ClientSession, Filter } from "mongodb";

import type { Logger } from "../logger.ts";
import { Fenced, type Position, type PositionKey } from "../topics/ports.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import { storedThrough } from "./stored-through.ts";

/** A record of the positions. */
export interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  /** Absent until the first batch is applied. */
  next_offset?: number;
  /** Absent for the partition's first log. */
  log?: number;
  /** The largest timestamp of a record before an offset. It says nothing once `next_offset` was moved by hand. */
  newest_record?: { on: Date; before: number };
  updated_on?: Date;
  /** The session that whoever has the partition writes in. */
  session?: Binary;
}

/** Given to every operation of a transaction. */
export interface SessionOptions {
  readonly session?: ClientSession;
}

/** The positions in MongoDB, and the sessions that their owners write in. */
export interface Positions {
  /** See TopicStore. */
  claim(key: PositionKey): Promise<Position | undefined>;
  /** See TopicStore. */
  list(group: string, topic: string): Promise<Map<number, Position>>;
  /**
   * Throws Fenced unless the position is still where the step begins. What a batch refuses may be wrong when it was decided
   * on what another consumer had written meanwhile; the position has moved then, and positions never come back.
   */
  check(step: PositionStep, options: SessionOptions): Promise<void>;
  /** Moves a position by compare-and-set. Throws Fenced. */
  move(step: PositionStep, options: SessionOptions): Promise<void>;
  /** The session of a claimed partition; undefined on a store without transactions. */
  session(key: PositionKey): ClientSession | undefined;
}

/** A step of a position. */
export interface PositionStep {
  readonly key: PositionKey;
  readonly from: Position | undefined;
  readonly to: Position;
}

/** Makes the access to positions; whoever calls wraps it in `database.run`. */
export function createPositions(database: Database, log: Logger): Positions {
  const positions = database.collection<PositionRecord>(collections.positions);
  /** Sessions of the partitions that this process has claimed. */
  const sessions = new Map<string, ClientSession>();

  async function renewSession(key: PositionKey, previous: Binary | undefined): Promise<Binary | undefined> {
    if (previous !== undefined) await database.killSession(previous);
    await sessions.get(nameOf(key))?.endSession();
    sessions.delete(nameOf(key));
    const session = database.startSession();
    if (session !== undefined) sessions.set(nameOf(key), session);
    return session?.id?.id;
  }

  async function move({ key, from, to }: PositionStep, options: SessionOptions): Promise<void> {
    const $set = {
      next_offset: to.offset,
      updated_on: new Date(),
      ...(to.log === 1 ? {} : { log: to.log }),
      ...(to.newest === undefined ? {} : { newest_record: { on: new Date(to.newest), before: to.offset } }),
    };
    const { matchedCount } = await positions.updateOne(unmoved(key, from), { $set }, options);
    if (matchedCount === 0) throw fenced(key, from);
  }

  /**
   * Where the stored records say that a partition stands, for a position that is missing or at the very beginning: what
   * made these records is applied, and what lies before was applied or refused. It is found out only on a store with
   * transactions, where a batch is never stored in part.
   */
  async function derive(key: PositionKey): Promise<Position | undefined> {
    const through = await storedThrough(database, key);
    if (through === undefined) return undefined;
    log.warn(
      { partition: `${key.topic}-${key.partition}`, offset: through.offset },
      "no position is stored, but records of this log are: going on behind the last of them; to read the whole log again, remove these records",
    );
    return through;
  }

  return {
    async claim(key) {
      const _id = idOf(key);
      const found = await positions.findOne({ _id });
      // Only now is it certain that nobody else's transaction holds the position's record.
      const session = await renewSession(key, found?.session);
      const claimed = await positions.findOneAndUpdate(
        { _id },
        session === undefined ? { $unset: { session: "" as const } } : { $set: { session } },
        { upsert: true, returnDocument: "after" },
      );
      const stored = claimed === null ? undefined : fromRecord(claimed);
      if (session === undefined || (stored !== undefined && stored.offset > 0)) return stored;
      const derived = await derive(key);
      if (derived === undefined) return stored;
      await move({ key, from: stored, to: derived }, {});
      return derived;
    },

    async list(group, topic) {
      const found = await positions.find({ "_id.group": group, "_id.topic": topic }).toArray();
      const listed = new Map<number, Position>();
      for (const record of found) {
        const position = fromRecord(record);
        if (position !== undefined) listed.set(record._id.partition, position);
      }
      return listed;
    },

    async check({ key, from }, options) {
      if ((await positions.findOne(unmoved(key, from), options)) === null) throw fenced(key, from);
    },
    move,
    session: (key) => sessions.get(nameOf(key)),
  };
}

function fromRecord({ next_offset, log, newest_record }: PositionRecord): Position | undefined {
  if (next_offset === undefined) return undefined;
  const newest = newest_record?.before === next_offset ? { newest: newest_record.on.getTime() } : {};
  return { offset: next_offset, log: log ?? 1, ...newest };
}

const idOf = ({ group, topic, partition }: PositionKey): PositionRecord["_id"] => ({
  group,
  topic,
  partition,
});

/** Finds the position if it is `from`. A filter for null matches an absent field as well. */
const unmoved = (key: PositionKey, from: Position | undefined): Filter<PositionRecord> =>
  ({ _id: idOf(key), next_offset: from?.offset ?? null }) as Filter<PositionRecord>;

const fenced = (key: PositionKey, from: Position | undefined): Fenced =>
  new Fenced(`the position of ${nameOf(key)} is not ${from?.offset ?? "unset"} any more`);

const nameOf = ({ group, topic, partition }: PositionKey): string =>
  `${topic}-${partition} in the group ${group}`;
