import type { Filter } from "mongodb";

import type { Replay, ReplayStore } from "../dead-letters/stores.ts";
import { runEach, type Database } from "./database/database.ts";
import { getDuplicates } from "./database/failures.ts";
import { collections } from "./names.ts";
import { maxUpdateMs } from "./database/client-options.ts";

interface ReplayRecord {
  letter: string;
  attempt: number;
  state: Replay["state"];
  replayed_on: Date;
  sent_to: Replay["sentTo"];
}

/** Stores replays in MongoDB, one record per attempt; a unique index lets each attempt be claimed once. */
export function createReplayStore(database: Database): ReplayStore {
  const replays = database.collection<ReplayRecord>(collections.replays);

  return runEach(database, {
    async find(deadLetterIds) {
      if (deadLetterIds.length === 0) return [];
      const query = replays.find({ letter: { $in: [...deadLetterIds] } }).sort({ letter: 1, attempt: 1 });
      return (await query.toArray()).map(fromReplayRecord);
    },

    async findSent(positions) {
      if (positions.length === 0) return [];
      const partitions = Map.groupBy(positions, ({ topic, partition }) => `${topic}-${partition}`);
      const $or = [...partitions.values()].map((some) => ({
        "sent_to.topic": some[0]?.topic,
        "sent_to.partition": some[0]?.partition,
        "sent_to.offset": { $in: some.map(({ offset }) => offset) },
      }));
      return (await replays.find({ $or } as Filter<ReplayRecord>).toArray()).map(fromReplayRecord);
    },

    async begin(claims) {
      try {
        await database.ensureIndexes(collections.replays);
        await replays.insertMany(claims.map(toReplayRecord), { ordered: false, maxTimeMS: maxUpdateMs });
        return new Set<string>();
      } catch (error) {
        return new Set(getDuplicates(error).flatMap(({ index }) => claims[index]?.deadLetterId ?? []));
      }
    },

    async markSent(sent) {
      await replays.bulkWrite(
        sent.map((replay) => ({
          updateOne: {
            filter: toKey(replay),
            update: { $set: { state: replay.state, sent_to: replay.sentTo } },
          },
        })),
        { maxTimeMS: maxUpdateMs },
      );
    },

    async remove(unsent) {
      await replays.bulkWrite(
        unsent.map((replay) => ({ deleteOne: { filter: toKey(replay) } })),
        { maxTimeMS: maxUpdateMs },
      );
    },
  });
}

const toKey = ({ deadLetterId, attempt }: Replay): Filter<ReplayRecord> => ({
  letter: deadLetterId,
  attempt,
});

export const toReplayRecord = ({
  deadLetterId,
  attempt,
  startedAt,
  state,
  sentTo,
}: Replay): ReplayRecord => ({
  letter: deadLetterId,
  attempt,
  state,
  replayed_on: startedAt,
  sent_to: sentTo,
});

export const fromReplayRecord = ({ letter, attempt, replayed_on, state, sent_to }: ReplayRecord): Replay => ({
  deadLetterId: letter,
  attempt,
  startedAt: replayed_on,
  state,
  sentTo: sent_to,
});
