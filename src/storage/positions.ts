import { UUID, type Binary, type ClientSession, type Filter } from "mongodb";

import type { Logger } from "../lib/logger.ts";
import {
  FencedError,
  type BatchStep,
  type ClaimedPosition,
  type Position,
  type PositionKey,
  type PositionStep,
  type PositionStore,
} from "../sync/positions.ts";
import { createMutex, type Mutex } from "../lib/mutex.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import { maxUpdateMs } from "./update-command.ts";

/** A record of the positions. */
export interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  /** Absent until the first batch is applied. */
  next_offset?: number;
  /** Absent for the first epoch. */
  epoch?: number;
  /** The largest timestamp of a record before an offset. It says nothing once `next_offset` was moved by hand. */
  newest_record?: { on: Date; before: number };
  updated_on?: Date;
  /** The process that moved it last. */
  moved_by?: UUID;
  /** The sessions that processes write in which had the partition, the newest last. */
  sessions?: Binary[];
}

/** Given to every operation of a transaction. */
export interface SessionOptions {
  readonly session?: ClientSession;
}

/** The positions in MongoDB, and the sessions that their owners write in. */
export interface Positions extends PositionStore {
  /**
   * Carries writes out and moves the position by compare-and-set, in one transaction where the store has them. `write` is
   * undefined when there is nothing to write. Throws FencedError, UnavailableError, and what `write` throws; nothing counts then.
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

/**
 * What this process does with a partition: one thing at a time, whichever of its readers asks, in a session that nothing else
 * ever uses. A session given back to the driver would be used for something else, and killed with it.
 */
interface Seat {
  readonly inTurn: Mutex;
  /** Undefined until the partition is claimed, and on a store without transactions. */
  session: ClientSession | undefined;
}

/** More than there are processes that have the partition in turn; what is left open is left by one of the last. */
const maxSessions = 8;

/** Makes the access to positions. */
export function createPositions(database: Database, { log, derive }: PositionsOptions): Positions {
  const positions = database.collection<PositionRecord>(collections.positions);
  const seats = new Map<string, Seat>();
  const processId = new UUID();

  function seatOf(key: PositionKey): Seat {
    const name = nameOf(key);
    const seat = seats.get(name) ?? { inTurn: createMutex(), session: undefined };
    seats.set(name, seat);
    return seat;
  }

  /**
   * Ends whatever the partition's owners have open on the server. One that was late to learn that it has lost the partition may
   * have begun another transaction after its session was killed: so each claim kills the sessions of all of them.
   */
  async function endOpenTransactions(_id: PositionRecord["_id"]): Promise<void> {
    const { sessions = [] } = (await positions.findOne({ _id })) ?? {};
    if (sessions.length === 0) return;
    await database.killSessions(sessions);
    const surplus = sessions.slice(0, -maxSessions);
    if (surplus.length > 0) await positions.updateOne({ _id }, { $pullAll: { sessions: surplus } });
  }

  /** Throws FencedError. */
  async function move({ key, from, to }: PositionStep, options: SessionOptions): Promise<void> {
    const $set = {
      next_offset: to.offset,
      updated_on: new Date(),
      moved_by: processId,
      ...(to.epoch === 1 ? {} : { epoch: to.epoch }),
      ...(to.newest === undefined ? {} : { newest_record: { on: new Date(to.newest), before: to.offset } }),
    };
    const { matchedCount } = await positions.updateOne(unmoved(key, from), { $set }, options);
    if (matchedCount === 0) throw fenced(key, from);
  }

  /**
   * Throws FencedError unless the position is still where the step begins. What a batch refuses may be wrong when it was decided
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

  async function claim(key: PositionKey, seat: Seat): Promise<ClaimedPosition | undefined> {
    const _id = idOf(key);
    // Only then it is certain that nobody else's transaction holds the position's record.
    await endOpenTransactions(_id);
    seat.session ??= database.startSession();
    const session = seat.session?.id?.id;
    const claimed = await positions.findOneAndUpdate(
      { _id },
      session === undefined ? { $unset: { sessions: "" as const } } : { $addToSet: { sessions: session } },
      // It waits for a transaction of a former owner that could not be killed.
      { upsert: true, returnDocument: "after", maxTimeMS: maxUpdateMs },
    );
    const position = claimed === null ? undefined : fromRecord(claimed);
    const isOurs = claimed?.moved_by?.equals(processId) ?? false;
    const stored = position && { ...position, isOurs, movedOn: claimed?.updated_on };
    if (session === undefined || (stored !== undefined && stored.offset > 0)) return stored;
    const through = await derived(key);
    if (through === undefined) return stored;
    await move({ key, from: stored, to: through }, {});
    return { ...through, isOurs: true };
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
    claim(key) {
      const seat = seatOf(key);
      return seat.inTurn(() => database.run(() => claim(key, seat)));
    },
    positions: (group, topic) => database.run(() => list(group, topic)),

    apply(step, write) {
      const seat = seatOf(step.key);
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
      return seat.inTurn(async () => {
        const { session } = seat;
        // Without writes the position moves by a single update, which needs no transaction.
        if (session === undefined || write === undefined) await database.run(() => work({}));
        else await database.transaction(session, () => work({ session }));
      });
    },
  };
}

function fromRecord({ next_offset, epoch, newest_record }: PositionRecord): Position | undefined {
  if (next_offset === undefined) return undefined;
  const newest = newest_record?.before === next_offset ? { newest: newest_record.on.getTime() } : {};
  return { offset: next_offset, epoch: epoch ?? 1, ...newest };
}

const idOf = ({ group, topic, partition }: PositionKey): PositionRecord["_id"] => ({
  group,
  topic,
  partition,
});

/** Finds the position if it is `from`. A filter for null matches an absent field as well. */
const unmoved = (key: PositionKey, from: Position | undefined): Filter<PositionRecord> =>
  ({
    _id: idOf(key),
    next_offset: from?.offset ?? null,
    epoch: from === undefined || from.epoch === 1 ? null : from.epoch,
  }) as Filter<PositionRecord>;

const fenced = (key: PositionKey, from: Position | undefined): FencedError =>
  new FencedError(`the position of ${nameOf(key)} is not ${from?.offset ?? "unset"} any more`);

const nameOf = ({ group, topic, partition }: PositionKey): string =>
  `${topic}-${partition} in the group ${group}`;
