import type { Replay, ReplayStore } from "../dead-letters/stores.ts";
import type { Database } from "./database.ts";
import { isDuplicate, getWriteErrors } from "./failures.ts";
import { collections } from "./names.ts";

interface ReplayRecord {
  _id: string;
  letter: string;
  state: "sending" | "sent";
  replayed_on: Date;
  sent_to: Replay["sentTo"];
}

/** The store of what was replayed in MongoDB: a record for each sending. */
export function createReplayStore(database: Database): ReplayStore {
  const replays = database.collection<ReplayRecord>(collections.replays);

  return {
    of: (letters) =>
      database.run(async () => {
        if (letters.length === 0) return [];
        const records = await replays.find({ letter: { $in: [...letters] } }).toArray();
        const found = records.map(({ _id, letter, state, replayed_on, sent_to }) => {
          return { id: _id, letter, on: replayed_on, state, sentTo: sent_to };
        });
        return found.toSorted((a, b) => a.on.getTime() - b.on.getTime());
      }),

    begin: (begun) =>
      database.run(async () => {
        try {
          await replays.insertMany(begun.map(toRecord), { ordered: false });
          return new Set<string>();
        } catch (error) {
          const failed = getWriteErrors(error);
          if (failed === undefined || !failed.every((one) => isDuplicate(one.error))) throw error;
          return new Set(failed.flatMap(({ index }) => begun[index]?.id ?? []));
        }
      }),

    sent: (all) =>
      database.run(async () => {
        await replays.bulkWrite(
          all.map(({ id, state, sentTo }) => ({
            updateOne: { filter: { _id: id }, update: { $set: { state, sent_to: sentTo } } },
          })),
        );
      }),

    forget: (all) =>
      database.run(async () => {
        await replays.deleteMany({ _id: { $in: all.map(({ id }) => id) } });
      }),
  };
}

const toRecord = ({ id, letter, on, state, sentTo }: Replay): ReplayRecord => ({
  _id: id,
  letter,
  state,
  replayed_on: on,
  sent_to: sentTo,
});
