/** What the scenes of transactions do in a session. */
import type { ClientSession } from "mongodb";

import { createLogger } from "@topicsync/lib/logger";
import type { Stage } from "./mongodb-stores.ts";
import { topic } from "./mongodb-statements.ts";

export const log = await createLogger("silent");

export const key = { group: "group", topic: "announcements", partition: 0 };

/**
 * A session whose steps are noted, those that begin or end a transaction with whether there is one
 * afterwards.
 */
export function openSession({ client, note }: Stage, name: string) {
  const session = client.startSession();
  const noteStep = (step: string, run: () => unknown): Promise<void> =>
    note(`${name}: ${step}`, async () => {
      await run();
      return { inTransaction: session.inTransaction() };
    });
  return {
    session,
    start: () =>
      noteStep("start", () => {
        session.startTransaction();
      }),
    commit: () => noteStep("commit", () => session.commitTransaction()),
    abort: () => noteStep("abort", () => session.abortTransaction()),
    noteState: () => noteStep("state", () => undefined),
    note: (step: string, run: (options: { session: ClientSession }) => Promise<unknown>) =>
      note(`${name}: ${step}`, () => run({ session })),
  };
}

/** Adds one record with the number 0, which the updates of a scene change. */
export const addRecord = ({ positions }: Stage) => positions.insertOne({ _id: key, next_offset: 0 });

export const setOffset =
  ({ positions }: Stage, next_offset: number, filter: object = {}) =>
  async (options: object = {}): Promise<object> => {
    const { matchedCount, modifiedCount } = await positions.updateOne(
      { _id: key, ...filter },
      { $set: { next_offset } },
      options,
    );
    return { matchedCount, modifiedCount };
  };

export const getOffset =
  ({ positions }: Stage) =>
  async (options: object = {}): Promise<unknown> =>
    (await positions.findOne({ _id: key }, options))?.["next_offset"];

export const insertTopic =
  ({ topics }: Stage, id: string, fields: object = {}) =>
  async (options: object = {}): Promise<string> => {
    await topics.insertOne(topic(id, fields), options);
    return "inserted";
  };

export const remove = async ({ topics }: Stage, _id: string, options: object): Promise<number> =>
  (await topics.deleteOne({ _id }, options)).deletedCount;
