import { UUID, type Binary, type ClientSession, type Filter } from "mongodb";

import type { Logger } from "../lib/logger.ts";
import { currentDate } from "../lib/platform.ts";
import { newId } from "../lib/sys-id.ts";
import {
  FencedError,
  PrimaryChangedError,
  type BatchTransaction,
  type ClaimedPosition,
  type Position,
  type PositionKey,
  type PositionStep,
  type PositionStore,
} from "../sync/positions.ts";
import { createConflictRetry, type Database } from "./database.ts";
import { commit } from "./failures.ts";
import { collections, type CollectionName } from "./names.ts";
import { maxUpdateMs } from "./client-options.ts";

export interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  /** Absent until the first batch is applied. */
  next_offset?: number;
  /** Absent for the first epoch. */
  epoch?: number;
  /** Kafka's id of the topic that the offset belongs to. Absent in positions that a person set, or that are from before ids. */
  kafka_topic_id?: string;
  updated_on?: Date;
  /** The write that moved it last. A person who sets the position leaves the id of an earlier write. */
  moved_by?: UUID;
  /** The sessions in which owners of the partition write, the newest last. */
  sessions?: Binary[];
  /** Different in each claim, so that a claim always changes the record and waits for a transaction that holds it. */
  claim?: UUID;
}

/** Options of every operation in a transaction. */
export interface SessionOptions {
  readonly session?: ClientSession;
}

/** Writes of a batch, to be run in its transaction where the store has transactions. */
export type WriteInSession = (options: SessionOptions) => Promise<void>;

/** Positions in MongoDB, and the transactions that move them. */
export interface Positions extends PositionStore, Pick<Database, "getPrimary"> {
  /**
   * See BatchStore. The first step begins the transaction.
   */
  begin(step: PositionStep): Promise<BatchTransaction<WriteInSession>>;
}

export interface PositionsOptions {
  readonly log: Logger;
  /** The collections that batches are decided on; none by default. */
  readonly decidedOn?: readonly CollectionName[];
  /**
   * Derives a position that is missing, or at the very beginning, from the stored records. Called only on a
   * store with transactions, where no batch is stored in part.
   */
  readonly derive?: (key: PositionKey) => Promise<Position | undefined>;
}

/**
 * A partition in this process. Its session is used for nothing else: one returned to the driver's pool would
 * be reused elsewhere, and be killed there by the partition's next owner.
 */
interface OwnedPartition {
  /** Undefined before the first claim, and on a store without transactions. */
  session: ClientSession | undefined;
  /** Whether a transaction of the session may still be open on the server: set until a commit succeeds. */
  mayBeOpen: boolean;
  /** The id of the last write that was begun; undefined before. */
  lastWrite: UUID | undefined;
  /** Settles when the last claim or batch that was begun has ended. Never rejects. */
  lastEnded: Promise<void>;
}

/** More than the processes that share a partition: only the last owner can have left a transaction open. */
const maxSessions = 8;

/**
 * Creates the access to positions.
 *
 * Invariant: within this process, one claim or batch of a partition runs at a time, whichever reader began
 * it; a session cannot hold two transactions. Between processes, the compare-and-set of the position decides.
 */
export function createPositions(
  database: Database,
  { log, decidedOn = [], derive }: PositionsOptions,
): Positions {
  const positions = database.collection<PositionRecord>(collections.positions);
  const partitions = new Map<string, OwnedPartition>();

  /** Waits for the claim or batch before. The caller calls `unlock` when it has ended. */
  async function lock(key: PositionKey): Promise<{ partition: OwnedPartition; unlock: () => void }> {
    const name = formatKey(key);
    const partition = partitions.get(name) ?? {
      session: undefined,
      mayBeOpen: false,
      lastWrite: undefined,
      lastEnded: Promise.resolve(),
    };
    partitions.set(name, partition);
    const previousEnded = partition.lastEnded;
    let unlock = (): void => undefined;
    partition.lastEnded = new Promise((resolve) => {
      unlock = resolve;
    });
    await previousEnded;
    return { partition, unlock };
  }

  /**
   * Aborts transactions that owners of the partition have open on the server. Each claim kills the sessions
   * of all of them: a former owner that does not know yet may have begun another transaction after its
   * session was killed. Killing may go on after this has returned, so the own session is spared where possible: its next
   * transaction could be aborted.
   */
  async function abortOpenTransactions(_id: PositionRecord["_id"], own: OwnedPartition): Promise<void> {
    const { sessions = [] } = (await positions.findOne({ _id })) ?? {};
    const spared = own.mayBeOpen ? undefined : own.session?.id?.id;
    const killed = sessions.filter(
      (id) => spared === undefined || Buffer.compare(id.buffer, spared.buffer) !== 0,
    );
    if (killed.length > 0) await database.killSessions(killed);
    const surplus = sessions.slice(0, -maxSessions);
    if (surplus.length > 0) await positions.updateOne({ _id }, { $pullAll: { sessions: surplus } });
  }

  /** Throws FencedError. */
  async function move({ key, from, to }: PositionStep, id: UUID, options: SessionOptions): Promise<void> {
    const $set = {
      next_offset: to.offset,
      updated_on: currentDate(),
      moved_by: id,
      ...(to.epoch === 1 ? {} : { epoch: to.epoch }),
      ...(to.topicId === undefined ? {} : { kafka_topic_id: to.topicId }),
    };
    const { matchedCount } = await positions.updateOne(toFilter(key, from), { $set }, options);
    if (matchedCount === 0) throw createFencedError(key, from);
  }

  /** What was read of an earlier primary may have been lost by the election. */
  function requirePrimary({ key, primary }: PositionStep): void {
    if (primary !== undefined && primary !== database.getPrimary())
      throw new PrimaryChangedError(`the batch of ${formatKey(key)} was decided on another primary`);
  }

  /** Throws FencedError unless the position is still where the step begins. */
  async function check({ key, from }: PositionStep, options: SessionOptions): Promise<void> {
    if ((await positions.findOne(toFilter(key, from), options)) === null) throw createFencedError(key, from);
  }

  async function claim(key: PositionKey, owned: OwnedPartition): Promise<ClaimedPosition | undefined> {
    const _id = toId(key);
    // Otherwise a former owner's transaction may still hold the position's record.
    await abortOpenTransactions(_id, owned);
    owned.session ??= database.startSession();
    const session = owned.session?.id?.id;
    const $set = { claim: new UUID(newId()) };
    const record = await positions.findOneAndUpdate(
      { _id },
      session === undefined
        ? { $set, $unset: { sessions: "" as const } }
        : { $set, $addToSet: { sessions: session } },
      // Waits for a former owner's transaction that could not be killed.
      { upsert: true, returnDocument: "after", maxTimeMS: maxUpdateMs },
    );
    const position = record === null ? undefined : fromRecord(record);
    const { lastWrite } = owned;
    const isOurs = lastWrite !== undefined && record?.moved_by?.equals(lastWrite) === true;
    const stored = position && { ...position, isOurs, movedOn: record?.updated_on };
    if (session === undefined || stored !== undefined) return stored;
    const derived = await derive?.(key);
    if (derived === undefined) return stored;
    log.warn(
      { partition: `${key.topic}-${key.partition}`, offset: derived.offset },
      "position missing, derived from the stored topics; remove these topics to read the whole log again",
    );
    await move({ key, from: stored, to: derived }, new UUID(newId()), {});
    return { ...derived, isOurs: false };
  }

  async function list(group: string, topic: string): Promise<Map<number, Position>> {
    const records = await positions.find({ "_id.group": group, "_id.topic": topic }).toArray();
    const listed = new Map<number, Position>();
    for (const record of records) {
      const position = fromRecord(record);
      if (position !== undefined) listed.set(record._id.partition, position);
    }
    return listed;
  }

  return {
    async claim(key) {
      const { partition, unlock } = await lock(key);
      return database.run(() => claim(key, partition)).finally(unlock);
    },

    findPositions: (group, topic) => database.run(() => list(group, topic)),
    getPrimary: () => database.getPrimary(),

    async begin(step) {
      const { partition, unlock } = await lock(step.key);
      const { session } = partition;
      const writeId = new UUID(newId());
      partition.lastWrite = writeId;
      /** Undefined before the first step begins the transaction, and without transactions. */
      let options: SessionOptions = {};

      let hasBegun = false;
      let isChecked = false;

      /** Begins the transaction, unless it has begun: no step may happen outside it. */
      function enter(): void {
        if (session === undefined) return;
        // Not again: a session that was ended meanwhile must not move the position without the records.
        if (!hasBegun) session.startTransaction();
        partition.mayBeOpen = true;
        hasBegun = true;
        options = { session };
      }

      async function abort(): Promise<void> {
        hasBegun = false;
        isChecked = false;
        if (session?.inTransaction()) await session.abortTransaction().catch(() => undefined);
      }

      /** Runs a step of the batch. A failed one aborts the transaction at once, since it may block others. */
      const run = (operation: () => Promise<void>): Promise<void> =>
        database.run(operation).catch(async (error: unknown) => {
          await abort();
          throw error;
        });

      return {
        write: (write) =>
          run(async () => {
            enter();
            await write(options);
          }),
        checkPosition: () =>
          run(async () => {
            enter();
            await check(step, options);
            // A primary that is cut off from the others still answers; what it has must not be lost with it.
            await database.confirmReads(step.primary, decidedOn);
            requirePrimary(step);
            isChecked = true;
          }),
        isChecked: () => isChecked,
        commit: () =>
          run(async () => {
            enter();
            await move(step, writeId, options);
            // A transaction ends with its primary: this is the one that has run all of it.
            requirePrimary(step);
            if (session !== undefined) await commit(session);
            partition.mayBeOpen = false;
          }),
        canRetry: createConflictRetry(),
        end: () => abort().finally(unlock),
      };
    },
  };
}

function fromRecord({ next_offset, epoch, kafka_topic_id }: PositionRecord): Position | undefined {
  if (next_offset === undefined) return undefined;
  const log = kafka_topic_id === undefined ? {} : { topicId: kafka_topic_id };
  return { offset: next_offset, epoch: epoch ?? 1, ...log };
}

const toId = ({ group, topic, partition }: PositionKey): PositionRecord["_id"] => ({
  group,
  topic,
  partition,
});

/** Finds the position if it is `from`. A filter for null also matches an absent field. */
const toFilter = (key: PositionKey, from: Position | undefined): Filter<PositionRecord> =>
  ({
    _id: toId(key),
    next_offset: from?.offset ?? null,
    epoch: from === undefined || from.epoch === 1 ? null : from.epoch,
  }) as Filter<PositionRecord>;

const createFencedError = (key: PositionKey, from: Position | undefined): FencedError =>
  new FencedError(`the position of ${formatKey(key)} is no longer ${from?.offset ?? "unset"}`);

const formatKey = ({ group, topic, partition }: PositionKey): string =>
  `${topic}-${partition} in the group ${group}`;
