import { UUID, type ClientSession, type Collection } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import type { Logger } from "@topicsync/lib/logger";
import { createLock, type Lock } from "@topicsync/lib/concurrency/lock";
import { newId } from "@topicsync/lib/sys-id";
import {
  PrimaryChangedError,
  type BatchStore,
  type BatchTransaction,
  type ClaimedPosition,
  type Position,
  type PositionKey,
  type PositionStep,
} from "@topicsync/kafka";
import type { Database } from "./database/database.ts";
import { commit, isDuplicate } from "./database/failures.ts";
import { collections, type CollectionName } from "./names.ts";
import {
  createFencedError,
  findPosition,
  findPositions,
  formatKey,
  fromRecord,
  toFields,
  toAbsent,
  toFilter,
  toId,
  type PositionRecord,
} from "./position-records.ts";
import { createConflictRetry } from "./database/transactions.ts";
import { maxUpdateMs } from "./database/client-options.ts";

/** Options of every operation in a transaction. */
export interface SessionOptions {
  readonly session?: ClientSession;
}

interface PositionsOptions<Writes> {
  readonly log: Logger;
  /** The collections that batches are decided on; none by default. */
  readonly decidedOn?: readonly CollectionName[];
  /**
   * Derives a position that is missing, or at the very beginning, from the stored records. Called only on a
   * store with transactions, where no batch is stored in part.
   */
  readonly derive?: (key: PositionKey) => Promise<Position | undefined>;
  /** Writes the records of a batch, in its transaction where the store has transactions. */
  readonly write: (writes: Writes, options: SessionOptions) => Promise<void>;
  /** Translates what a step of a batch throws. */
  readonly toStepError?: (error: unknown) => unknown;
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
  /** Waits for the previous claim or batch. */
  readonly acquire: Lock;
}

/** What claims and batches use. */
interface Context<Writes> extends PositionsOptions<Writes> {
  readonly database: Database;
  readonly positions: Collection<PositionRecord>;
}

/** More than the processes that share a partition: only the last owner can have left a transaction open. */
const maxSessions = 8;

/**
 * Creates the access to positions, and to the transactions that move them.
 *
 * Invariant: within this process, one claim or batch of a partition runs at a time, whichever reader began
 * it; a session cannot hold two transactions. Between processes, the compare-and-set of the position decides.
 */
export function createPositions<Writes>(
  database: Database,
  options: PositionsOptions<Writes>,
): BatchStore<Writes> {
  const positions = database.collection<PositionRecord>(collections.positions);
  const context: Context<Writes> = { ...options, database, positions };
  const partitions = new Map<string, OwnedPartition>();

  function getPartition(key: PositionKey): OwnedPartition {
    const name = formatKey(key);
    const partition = partitions.get(name) ?? {
      session: undefined,
      mayBeOpen: false,
      lastWrite: undefined,
      acquire: createLock(),
    };
    partitions.set(name, partition);
    return partition;
  }

  return {
    async claim(key) {
      const partition = getPartition(key);
      const release = await partition.acquire();
      return database.run(() => claim(key, partition, context)).finally(release);
    },

    findPosition: (key) => findPosition(database, key),
    findPositions: (group, topic) => findPositions(database, group, topic),
    setPosition: (key, from, to) => database.run(() => setPosition(positions, { key, from, to })),
    getPrimary: () => database.getPrimary(),

    async begin(step) {
      const partition = getPartition(step.key);
      const release = await partition.acquire();
      return new PositionedBatch(step, partition, context, release);
    },
  };
}

async function claim<Writes>(
  key: PositionKey,
  owned: OwnedPartition,
  context: Context<Writes>,
): Promise<ClaimedPosition | undefined> {
  const { database, positions, derive, log } = context;
  const _id = toId(key);
  // Otherwise a former owner's transaction may still hold the position's record.
  await abortOpenTransactions(_id, owned, context);
  if (owned.session !== undefined && !database.isCurrent(owned.session)) owned.session = undefined;
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
  await move({ key, from: stored, to: derived }, new UUID(newId()), {}, context);
  return { ...derived, isOurs: false };
}

/**
 * Aborts transactions that owners of the partition have open on the server. Each claim kills the sessions of
 * all of them: a former owner that does not know yet may have begun another transaction after its session was
 * killed. Killing may go on after this has returned, so the own session is spared where possible: its next
 * transaction could be aborted.
 */
async function abortOpenTransactions<Writes>(
  _id: PositionRecord["_id"],
  own: OwnedPartition,
  { database, positions }: Context<Writes>,
): Promise<void> {
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
async function move<Writes>(
  { key, from, to }: PositionStep,
  id: UUID,
  options: SessionOptions,
  { positions }: Context<Writes>,
): Promise<void> {
  const { matchedCount } = await positions.updateOne(
    toFilter(key, from),
    { $set: toFields(to, id) },
    options,
  );
  if (matchedCount === 0) throw createFencedError(key, from);
}

/** A running owner is fenced by it. Returns false if the position has moved. */
async function setPosition(
  positions: Collection<PositionRecord>,
  { key, from, to }: Omit<PositionStep, "primary">,
): Promise<boolean> {
  const $set = toFields(to, new UUID(newId()));
  const $unset = toAbsent(to);
  try {
    const { matchedCount, upsertedCount } = await positions.updateOne(
      toFilter(key, from),
      // Not every version accepts an operator without fields.
      Object.keys($unset).length === 0 ? { $set } : { $set, $unset },
      { upsert: from === undefined, maxTimeMS: maxUpdateMs },
    );
    return matchedCount + upsertedCount > 0;
  } catch (error) {
    // There is a position since.
    if (isDuplicate(error)) return false;
    throw error;
  }
}

/** A batch that is being stored. Its first step begins the transaction. */
class PositionedBatch<Writes> implements BatchTransaction<Writes> {
  readonly canRetry = createConflictRetry();
  readonly #step: PositionStep;
  readonly #partition: OwnedPartition;
  readonly #context: Context<Writes>;
  readonly #release: () => void;
  readonly #id = new UUID(newId());
  /** Empty before the first step begins the transaction, and without transactions. */
  #options: SessionOptions = {};
  #hasBegun = false;
  #isChecked = false;
  #hasEnded = false;

  constructor(step: PositionStep, partition: OwnedPartition, context: Context<Writes>, release: () => void) {
    this.#step = step;
    this.#partition = partition;
    this.#context = context;
    this.#release = release;
    partition.lastWrite = this.#id;
  }

  write(writes: Writes): Promise<void> {
    return this.#run(async () => {
      await this.#context.write(writes, this.#options);
    });
  }

  checkPosition(): Promise<void> {
    return this.#run(async () => {
      const { database, positions, decidedOn = [] } = this.#context;
      const { key, from, primary } = this.#step;
      const found = await positions.findOne(toFilter(key, from), this.#options);
      if (found === null) throw createFencedError(key, from);
      // A primary that is cut off from the others still answers; what it has must not be lost with it.
      await database.confirmReads(primary, decidedOn);
      this.#requirePrimary();
      this.#isChecked = true;
    });
  }

  isChecked(): boolean {
    return this.#isChecked;
  }

  commit(): Promise<void> {
    return this.#run(async () => {
      await move(this.#step, this.#id, this.#options, this.#context);
      // A transaction ends with its primary: this is the one that has run all of it.
      this.#requirePrimary();
      const { session } = this.#options;
      if (session !== undefined) await commit(session);
      this.#partition.mayBeOpen = false;
    });
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#abort().finally(this.#release);
  }

  /** Runs a step of the batch. A failed one aborts the transaction at once, since it may block others. */
  async #run(operation: () => Promise<void>): Promise<void> {
    const { database, toStepError } = this.#context;
    invariant(!this.#hasEnded, "no step of a batch follows its end");
    try {
      await database.run(async () => {
        this.#enter();
        await operation();
      });
    } catch (error) {
      await this.#abort();
      throw toStepError === undefined ? error : toStepError(error);
    }
  }

  /** Begins the transaction, unless it has begun: no step may happen outside it. */
  #enter(): void {
    const { session } = this.#partition;
    if (session === undefined) return;
    // Do not begin again: a session that was ended must not move the position without the records.
    if (!this.#hasBegun) {
      invariant(!session.inTransaction(), "a session holds one transaction at a time");
      // The next claim starts another session, and registers it.
      if (!this.#context.database.isCurrent(session))
        throw new UnavailableError("the connection to MongoDB was replaced");
      session.startTransaction();
    }
    this.#partition.mayBeOpen = true;
    this.#hasBegun = true;
    this.#options = { session };
  }

  async #abort(): Promise<void> {
    const { session } = this.#partition;
    this.#hasBegun = false;
    this.#isChecked = false;
    if (session?.inTransaction()) await session.abortTransaction().catch(() => undefined);
  }

  /** What was read of an earlier primary may have been lost by the election. */
  #requirePrimary(): void {
    const { key, primary } = this.#step;
    if (primary !== undefined && primary !== this.#context.database.getPrimary())
      throw new PrimaryChangedError(`the batch of ${formatKey(key)} was decided on another primary`);
  }
}
