import type { Filter } from "mongodb";

import { TransactionConflictError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import type { PositionStep, RecordPosition } from "@topicsync/kafka";
import { maxCounted } from "../../schemas/dead-letters/dead-letter.ts";
import type { DeadLetterCode } from "../dead-letters/dead-letter.ts";
import type {
  DeadLetterFilter,
  DeadLetterReader,
  DeadLetterStore,
  DeadLetterWrites,
} from "../dead-letters/stores.ts";
import type { DeadLetterSummary, StoredDeadLetter } from "../dead-letters/summary.ts";
import { maxListMs, updateLimit } from "./database/client-options.ts";
import type { Database } from "./database/database.ts";
import { collections } from "./names.ts";
import { toId as toPositionId, type PositionRecord } from "./position-records.ts";
import { createPositions, type SessionOptions } from "./positions.ts";
import { matchAll, streamBatches, toBoundary, toNamespaceFilter } from "./queries.ts";

/**
 * A dead letter. `partition`, `offset` and `epoch` are the position of its last copy in the dead-letter
 * topic.
 */
export interface DeadLetterRecord {
  /** See toId. */
  _id: string;
  kafka_topic: string;
  partition: number;
  offset: number;
  epoch: number;
  rank: number;
  code: DeadLetterCode;
  message: string;
  external_id?: string;
  /** Absent if it is unknown, and in records of older versions. */
  namespace?: string;
  source?: RecordPosition;
  time?: Date;
  omitted?: string;
  bytes: number;
  copies: number;
  /** The offset of the last copy in each partition, so that no copy is counted twice. */
  last_offsets: Record<string, number>;
}

/** Stores dead letters in MongoDB, one record for each id. */
export function createDeadLetterStore(database: Database, log: Logger): DeadLetterStore {
  const letters = database.collection<DeadLetterRecord>(collections.deadLetters);
  const positions = database.collection<PositionRecord>(collections.positions);

  async function write(writes: DeadLetterWrites, options: SessionOptions): Promise<void> {
    const { key, summaries, epoch } = writes;
    const last = summaries.at(-1);
    if (last === undefined) return;
    const ids = summaries.map(({ position, id }) => toId(position.topic, id));
    // Read in the transaction, so that a copy that another partition has at the same time is not overwritten.
    // In one response: not every product has cursors in transactions.
    const found = await letters
      .find({ _id: { $in: ids } }, { ...options, batchSize: ids.length + 1 })
      .toArray();
    const stored = new Map(found.map((record) => [record._id, record]));
    const changed = new Map<string, DeadLetterRecord>();
    for (const summary of summaries) {
      const _id = toId(summary.position.topic, summary.id);
      const record = addCopy(changed.get(_id) ?? stored.get(_id), summary, epoch);
      if (record !== undefined) changed.set(_id, record);
    }
    const added = [...changed.values()].filter(({ _id }) => !stored.has(_id));
    const replaced = [...changed.values()].filter(({ _id }) => stored.has(_id));
    if (added.length > 0) await letters.insertMany(added, { ...options, ordered: false });
    if (replaced.length > 0) {
      const { matchedCount } = await letters.bulkWrite(
        replaced.map((replacement) => {
          const { _id } = replacement;
          // Not every product makes a change since then a conflict of the transactions.
          const { copies, rank } = stored.get(_id) ?? replacement;
          return { replaceOne: { filter: { _id, copies, rank }, replacement } };
        }),
        { ...options, ordered: false },
      );
      if (matchedCount < replaced.length)
        throw new TransactionConflictError("dead letters were changed at the same time");
    }
    await positions.updateOne({ _id: toPositionId(key) }, { $set: { last_rank: last.rank } }, options);
  }

  return {
    ...createPositions<DeadLetterWrites>(database, { log, write }),

    findLastRank: (key) =>
      database.run(async () => (await positions.findOne({ _id: toPositionId(key) }))?.last_rank ?? 0),

    removeReplaced: (step) =>
      database.run(async () => {
        const replaced = findReplaced(step);
        if (replaced !== undefined) await letters.deleteMany(replaced, updateLimit);
      }),
  };
}

/** Reads the stored dead letters of a dead-letter topic. */
export function createDeadLetterReader(database: Database, topic: string): DeadLetterReader {
  const letters = database.collection<DeadLetterRecord>(collections.deadLetters);
  const all = { kafka_topic: topic };

  return {
    find: (ids) =>
      database.run(async () => {
        if (ids.length === 0) return [];
        const found = letters.find({ _id: { $in: ids.map((id) => toId(topic, id)) } });
        return (await found.toArray()).map(fromDeadLetterRecord);
      }),

    stream(filter, { after, ...options }) {
      const sort = ["rank", "partition", "offset"] as const;
      const keys = after && sort.map((field) => after[field]);
      const boundary = keys === undefined ? {} : toBoundary<DeadLetterRecord>(sort, true, keys);
      const cursor = letters.find(matchAll([toQuery(topic, filter), boundary]), {
        ...options,
        sort: Object.fromEntries(sort.map((field) => [field, -1])),
      });
      return streamBatches(database, { cursor, as: "list" }, fromDeadLetterRecord);
    },

    async countByCode(namespaces) {
      const limits = { maxTimeMS: maxListMs, limit: maxCounted };
      const among = toNamespaceFilter(namespaces);
      // Of all namespaces: reads one index entry per code.
      const codes = await database.list(() => letters.distinct("code", all, { maxTimeMS: maxListMs }));
      const counting = codes.toSorted().map(async (code) => {
        const count = await database.list(() => letters.countDocuments({ ...all, code, ...among }, limits));
        return [code, count] as const;
      });
      const counts = await Promise.all(counting);
      return Object.fromEntries(counts.filter(([, count]) => count > 0));
    },

    removeBefore: ({ partition, offset, epoch }) =>
      database.run(async () => {
        const own = { ...all, partition, epoch: { $lte: epoch } };
        // Ranks grow with the offsets of a partition, and have an index: no more is read than is removed.
        const kept = await letters.findOne({ ...own, offset: { $gte: offset } }, { sort: { rank: 1 } });
        const removed = { ...own, offset: { $lt: offset }, ...(kept && { rank: { $lte: kept.rank } }) };
        await letters.deleteMany(removed, updateLimit);
      }),
  };
}

/** Any program can write any id to a topic. The name of a Kafka topic has no colon. */
const toId = (topic: string, id: string): string => `${topic}:${id}`;

/** The record with one more copy; undefined if that was counted before. */
export function addCopy(
  stored: DeadLetterRecord | undefined,
  summary: DeadLetterSummary,
  epoch: number,
): DeadLetterRecord | undefined {
  const { id, position, source, time, externalId, namespace, omitted, ...rest } = summary;
  const { topic, partition, offset } = position;
  const lastOffsets = stored?.epoch === epoch ? stored.last_offsets : {};
  if ((lastOffsets[partition] ?? -1) >= offset) return undefined;
  return {
    _id: toId(topic, id),
    kafka_topic: topic,
    partition,
    offset,
    epoch,
    ...rest,
    ...(source && { source }),
    ...(time && { time }),
    ...(externalId !== undefined && { external_id: externalId }),
    ...(namespace !== undefined && { namespace }),
    ...(omitted !== undefined && { omitted }),
    copies: (stored?.copies ?? 0) + 1,
    last_offsets: { ...lastOffsets, [partition]: offset },
  };
}

export const fromDeadLetterRecord = (record: DeadLetterRecord): StoredDeadLetter => {
  const { _id, kafka_topic: topic, partition, offset, rank, code, message, bytes, copies } = record;
  const { source, time, external_id: externalId, namespace, omitted } = record;
  const position = { topic, partition, offset };
  const id = _id.slice(toId(topic, "").length);
  return { id, position, source, code, time, message, omitted, externalId, namespace, bytes, rank, copies };
};

function toQuery(topic: string, { codes, from, to, namespaces }: DeadLetterFilter): Filter<DeadLetterRecord> {
  return {
    kafka_topic: topic,
    ...toNamespaceFilter(namespaces),
    ...(codes && { code: { $in: [...codes] as DeadLetterCode[] } }),
    // The rank is never below the time, and has an index.
    ...(from && { rank: { $gte: from.getTime() } }),
    ...((from ?? to) && { time: { ...(from && { $gte: from }), ...(to && { $lte: to }) } }),
  };
}

/**
 * The dead letters that are no longer in the log that a position moves to; undefined if it stays in its log.
 */
function findReplaced({ key, from, to }: PositionStep): Filter<DeadLetterRecord> | undefined {
  if (from === undefined || from.epoch === to.epoch) return undefined;
  const earlier = { kafka_topic: key.topic, epoch: { $lt: to.epoch } };
  // A position that a person set has no topic id: it counts for the log that is there.
  if (from.topicId === undefined && to.topicId !== undefined) return undefined;
  if (from.topicId !== to.topicId || to.topicId === undefined) return earlier;
  // The same log, cut short: Kafka has lost its end.
  return { ...earlier, partition: key.partition, offset: { $gte: to.offset } };
}
