import type { Binary, ClientSession, Filter } from "mongodb";

import type { Logger } from "../logger.ts";
import {
  Fenced,
  type BatchStep,
  type Position,
  type PositionKey,
  type PositionStep,
  type PositionStore,
} from "../positions.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";

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
export interface Positions extends PositionStore {
  /**
   * Carries writes out and moves the position by compare-and-set, in one transaction where the store has them. `write` is
   * undefined when there is nothing to write. Throws Fenced, Unavailable, and what `write` throws; nothing counts then.
   */
  apply(step: BatchStep, write: ((options: SessionOptions) => Promise<void>) | undefined): Promise<void>;
}

export interface PositionsOptions {
  readonly log: Logger;
  /**
   * Where the stored records say that a partition stands, for a position that is missing or at the very beginning. It is
   * asked only on a store with transactions, where a batch is never stored in part.
   */
  readonly derive?: (key: PositionKey) => Promise<Position | undefined>;
}

/** Makes the access to positions. */
export function createPositions(database: Database, { log, derive }: PositionsOptions): Positions {
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

  /** Throws Fenced. */
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
   * Throws Fenced unless the position is still where the step begins. What a batch refuses may be wrong when it was decided
   * on what another consumer had written meanwhile; the position has moved then, and positions never come back.
   */
  async function check({ key, from }: PositionStep, options: SessionOptions): Promise<void> {
    if ((await positions.findOne(unmoved(key, from), options)) === null) throw fenced(key, from);
  }

  async function derived(key: PositionKey): Promise<Position | undefined> {
    const through = await derive?.(key);
    if (through === undefined) return undefined;
    log.warn(
      { partition: `${key.topic}-${key.partition}`, offset: through.offset },
      "no position is stored, but records of this log are: going on behind the last of them; to read the whole log again, remove these records",
    );
    return through;
  }

  async function claim(key: PositionKey): Promise<Position | undefined> {
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
    const through = await derived(key);
    if (through === undefined) return stored;
    await move({ key, from: stored, to: through }, {});
    return through;
  }

  async function list(group: string, topic: string): Promise<Map<number, Position>> {
    const found = await positions.find({ "_id.group": group, "_id.topic": topic }).toArray();
    const listed = new Map<number, Position>();
    for (const record of found) {
      const position = fromRecord(record);
      if (position !== undefined) listed.set(record._id.partition, position);
    }
    return listed;
  }

  return {
    claim: (key) => database.run(() => claim(key)),
    positions: (group, topic) => database.run(() => list(group, topic)),

    async apply(step, write) {
      const session = sessions.get(nameOf(step.key));
      const work = async (options: SessionOptions): Promise<void> => {
        step.entered?.("write");
        await write?.(options);
        step.entered?.("commit");
        if (step.beforeCommit !== undefined) {
          await check(step, options);
          await step.beforeCommit();
        }
        await move(step, options);
      };
      // Without writes the position moves by a single update, which needs no transaction.
      if (session === undefined || write === undefined) await database.run(() => work({}));
      else await database.transaction(session, () => work({ session }));
    },
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
