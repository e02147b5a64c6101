/** Scenes of transactions and sessions. */
import { UUID, type ClientSession } from "mongodb";

import { createLogger } from "../../../src/lib/logger.ts";
import { toDatabase } from "../../../src/storage/database.ts";
import { killSessions, readAll, type Scene, type Stage } from "./mongodb-stores.ts";
import { at, topic } from "./mongodb-statements.ts";

const log = await createLogger("silent");

const key = { group: "group", topic: "announcements", partition: 0 };

/**
 * A session whose steps are noted, those that begin or end a transaction with whether there is one
 * afterwards.
 */
function openSession({ client, note }: Stage, name: string) {
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
const addRecord = ({ positions }: Stage) => positions.insertOne({ _id: key, next_offset: 0 });

const setOffset =
  ({ positions }: Stage, next_offset: number, filter: object = {}) =>
  async (options: object = {}): Promise<object> => {
    const { matchedCount, modifiedCount } = await positions.updateOne(
      { _id: key, ...filter },
      { $set: { next_offset } },
      options,
    );
    return { matchedCount, modifiedCount };
  };

const getOffset =
  ({ positions }: Stage) =>
  async (options: object = {}): Promise<unknown> =>
    (await positions.findOne({ _id: key }, options))?.["next_offset"];

const insertTopic =
  ({ topics }: Stage, id: string, fields: object = {}) =>
  async (options: object = {}): Promise<string> => {
    await topics.insertOne(topic(id, fields), options);
    return "inserted";
  };

const remove = async ({ topics }: Stage, _id: string, options: object): Promise<number> =>
  (await topics.deleteOne({ _id }, options)).deletedCount;

export const duplicatesInTransaction: Scene = {
  name: "a transaction inserts a unique value that was there before",
  async play(stage) {
    await insertTopic(stage, "a")();
    const own = openSession(stage, "own");
    await own.start();
    await own.note("another insertion", insertTopic(stage, "b"));
    await own.note("one duplicate", insertTopic(stage, "c", { topic_id: "external a" }));
    await own.noteState();
    await own.note("a statement after it", (options) => stage.topics.findOne({ _id: "a" }, options));
    await own.commit();
    await own.start();
    await own.note("several", (options) =>
      stage.topics.insertMany([topic("d"), topic("e", { topic_name: "name a" })], options),
    );
    await own.abort();
    await own.start();
    await own.note("a replacement", (options) =>
      stage.topics.bulkWrite(
        [{ replaceOne: { filter: { _id: "f" }, replacement: { topic_id: "external a" }, upsert: true } }],
        options,
      ),
    );
    await own.abort();
    await own.start();
    await own.note("the same id", insertTopic(stage, "a"));
    await own.abort();
    await stage.note("the records", () => readAll(stage.topics));
  },
};

export const transactionScenes: readonly Scene[] = [
  {
    name: "own writes are visible at once, and to others after the commit",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.noteState();
      await own.start();
      await own.note("insert", insertTopic(stage, "a"));
      await own.note("update", setOffset(stage, 1));
      await own.note("update what is inserted", async (options) => {
        const { matchedCount } = await stage.topics.bulkWrite(
          [{ replaceOne: { filter: { _id: "a" }, replacement: { topic_id: "new", topic_name: "new" } } }],
          { ...options, ordered: true },
        );
        return matchedCount;
      });
      await own.note("own read", getOffset(stage));
      await own.note("own record", (options) => stage.topics.findOne({ topic_id: "new" }, options));
      await stage.note("others' read", () => getOffset(stage)());
      await stage.note("others' records", () => readAll(stage.topics));
      await own.commit();
      await stage.note("others' read", () => getOffset(stage)());
      await stage.note("others' records", () => readAll(stage.topics));
    },
  },
  {
    name: "a transaction reads its snapshot",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await stage.note("a change before the first statement", () => setOffset(stage, 1)());
      await own.note("first read", getOffset(stage));
      await stage.note("a change", () => setOffset(stage, 2)());
      await stage.note("an insertion", () => insertTopic(stage, "a")());
      await own.note("second read", getOffset(stage));
      await own.note("what was inserted", (options) => stage.topics.findOne({ _id: "a" }, options));
      await own.note("an update that matches since", setOffset(stage, 3, { next_offset: 2 }));
      await own.commit();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "two transactions write one record",
    async play(stage) {
      await addRecord(stage);
      const one = openSession(stage, "one");
      const other = openSession(stage, "other");
      await one.start();
      await other.start();
      await one.note("read", getOffset(stage));
      await other.note("read", getOffset(stage));
      await one.note("update", setOffset(stage, 1));
      await other.note("update", setOffset(stage, 2));
      await other.noteState();
      await other.note("a statement after the conflict", getOffset(stage));
      await other.abort();
      await one.commit();
      await stage.note("the record", () => getOffset(stage)());
      await other.start();
      await other.note("update", setOffset(stage, 2));
      await other.commit();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "a transaction writes what was changed since its snapshot",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("read", getOffset(stage));
      await stage.note("a change", () => setOffset(stage, 1)());
      await own.note("update", setOffset(stage, 2));
      await own.commit();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "a transaction that only reads conflicts with nothing",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("read", getOffset(stage));
      await stage.note("a change", () => setOffset(stage, 1)());
      await own.commit();
    },
  },
  {
    name: "an update that changes nothing holds nothing",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 0));
      await stage.note("a change", () => setOffset(stage, 1)({ maxTimeMS: 10_000 }));
      await own.note("update again", setOffset(stage, 0));
      await own.commit();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "two transactions insert one unique value",
    async play(stage) {
      const one = openSession(stage, "one");
      const other = openSession(stage, "other");
      await one.start();
      await other.start();
      await other.note("read", (options) => stage.topics.findOne({ _id: "b" }, options));
      await one.note("insert", insertTopic(stage, "a"));
      await other.note("insert", insertTopic(stage, "b", { topic_id: "external a" }));
      await other.abort();
      await one.commit();
      await stage.note("the records", () => readAll(stage.topics));
    },
  },
  {
    name: "a transaction inserts a unique value that was inserted since its snapshot",
    async play(stage) {
      const own = openSession(stage, "own");
      await own.start();
      await own.note("read", (options) => stage.topics.findOne({ _id: "b" }, options));
      await stage.note("an insertion", () => insertTopic(stage, "a")());
      await own.note("insert", insertTopic(stage, "b", { topic_id: "external a" }));
      await own.abort();
    },
  },
  duplicatesInTransaction,
  {
    name: "a transaction deletes a record and inserts its unique values again",
    async play(stage) {
      await insertTopic(stage, "a")();
      const own = openSession(stage, "own");
      await own.start();
      await own.note("delete", async (options) => {
        const { deletedCount } = await stage.topics.deleteMany({ _id: { $in: ["a"] } }, options);
        return deletedCount;
      });
      await own.note("insert", insertTopic(stage, "b", { topic_id: "external a", topic_name: "name a" }));
      await own.commit();
      await stage.note("the records", () => readAll(stage.topics));
      await own.start();
      await own.note("delete", (options) => remove(stage, "b", options));
      await own.note("insert with the same id", insertTopic(stage, "b"));
      await own.abort();
      await stage.note("the records", () => readAll(stage.topics));
    },
  },
  {
    name: "a write waits for the transaction that holds its record, up to its time limit",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      await stage.note("a write with a time limit", () => setOffset(stage, 2)({ maxTimeMS: 50 }));
      await stage.note("an update command with a time limit", () =>
        stage.db.command({
          update: stage.positions.collectionName,
          updates: [{ q: { _id: key }, u: { $set: { next_offset: 2 } } }],
          ordered: false,
          maxTimeMS: 50,
        }),
      );
      await stage.note("others' read", () => getOffset(stage)());
      const endWrite = stage.begin("a write that waits", () => setOffset(stage, 2)({ maxTimeMS: 10_000 }));
      await own.commit();
      await endWrite();
      await stage.note("the record", () => getOffset(stage)());
      await own.start();
      await own.note("update", setOffset(stage, 3));
      const endOther = stage.begin("a write that does not match after its wait", () =>
        setOffset(stage, 4, { next_offset: 2 })({ maxTimeMS: 10_000 }),
      );
      await own.commit();
      await endOther();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "a write goes on once the transaction that holds its record is aborted",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      const endWrite = stage.begin("a write that waits", () => setOffset(stage, 2)({ maxTimeMS: 10_000 }));
      await own.abort();
      await endWrite();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "a claim goes on once the session that holds its record is killed",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      const endClaim = stage.begin("a claim that waits", () =>
        stage.positions.findOneAndUpdate(
          { _id: key },
          { $set: { claim: "claim" } },
          { upsert: true, returnDocument: "after", maxTimeMS: 10_000 },
        ),
      );
      await stage.note("kill", async () => void (await killSessions(stage, own.session)));
      await endClaim();
      await own.commit();
    },
  },
  {
    name: "an insertion waits for the transaction that has inserted its unique value",
    async play(stage) {
      const own = openSession(stage, "own");
      await own.start();
      await own.note("insert", insertTopic(stage, "a"));
      const insertSame = insertTopic(stage, "b", { topic_id: "external a" });
      await stage.note("an insertion with a time limit", () => insertSame({ maxTimeMS: 50 }), {
        because: "SecantusDB has no time limit for insertions",
        documented: { failure: "outage" },
      });
      const endFirst = stage.begin("an insertion that waits for the abort", () =>
        insertSame({ maxTimeMS: 10_000 }),
      );
      await own.abort();
      await endFirst();
      await own.start();
      await own.note("insert", insertTopic(stage, "c"));
      const endSecond = stage.begin("an insertion that waits for the commit", () =>
        insertTopic(stage, "d", { topic_id: "external c" })({ maxTimeMS: 10_000 }),
      );
      await own.commit();
      await endSecond();
      await stage.note("the records", () => readAll(stage.topics));
    },
  },
  {
    name: "a unique value is taken while a transaction changes other fields of its record",
    async play(stage) {
      await insertTopic(stage, "a")();
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", (options) =>
        stage.topics
          .updateOne({ _id: "a" }, { $set: { sys_updated_on: at(2) } }, options)
          .then(({ matchedCount }) => matchedCount),
      );
      const insertSame = insertTopic(stage, "b", { topic_id: "external a" });
      await stage.note("an insertion", () => insertSame({ maxTimeMS: 10_000 }));
      const other = openSession(stage, "other");
      await other.start();
      await other.note("insert", insertSame);
      await other.abort();
      await own.commit();
    },
  },
  {
    name: "a unique value is taken until the transaction that frees it has committed",
    async play(stage) {
      await insertTopic(stage, "a")();
      const own = openSession(stage, "own");
      const other = openSession(stage, "other");
      await other.start();
      await other.note("read", (options) => stage.topics.findOne({ _id: "b" }, options));
      await own.start();
      await own.note("delete", (options) => remove(stage, "a", options));
      const insertSame = insertTopic(stage, "b", { topic_id: "external a" });
      await stage.note("an insertion", () => insertSame({ maxTimeMS: 10_000 }));
      await own.commit();
      await other.note("an insertion in an older snapshot", insertSame);
      await other.abort();
      await stage.note("an insertion after the commit", () => insertSame());
    },
  },
  {
    name: "an aborted transaction has stored nothing",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      await own.note("insert", insertTopic(stage, "a"));
      await own.abort();
      await stage.note("the record", () => getOffset(stage)());
      await stage.note("the records", () => readAll(stage.topics));
      await own.start();
      await own.note("read", getOffset(stage));
      await own.commit();
    },
  },
  {
    name: "empty transactions",
    async play(stage) {
      const own = openSession(stage, "own");
      await own.commit();
      await own.abort();
      await own.start();
      await own.start();
      await own.commit();
      await own.start();
      await own.abort();
      await own.abort();
      await own.start();
      await stage.note("kill", async () => void (await killSessions(stage, own.session)));
      await own.commit();
      await own.noteState();
      await own.session.endSession();
    },
  },
  {
    name: "a commit after its session was killed",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      const other = openSession(stage, "other");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      await other.start();
      await other.note("insert", insertTopic(stage, "a"));
      await stage.note("kill one of two", async () => void (await killSessions(stage, own.session)));
      await own.noteState();
      await own.commit();
      await own.noteState();
      await other.commit();
      await own.start();
      await own.note("update in a new transaction", setOffset(stage, 2));
      await own.commit();
      await stage.note("the record", () => getOffset(stage)());
      await stage.note("kill both", async () => void (await killSessions(stage, own.session, other.session)));
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "a statement after its session was killed",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      await stage.note("kill", async () => void (await killSessions(stage, own.session)));
      await own.note("update", setOffset(stage, 2));
      await own.noteState();
      await own.note("read", getOffset(stage));
      await own.abort();
      await stage.note("the record", () => getOffset(stage)());
      await own.start();
      await own.note("read", getOffset(stage));
      await own.note("update", setOffset(stage, 3));
      await own.commit();
      await stage.note("the record", () => getOffset(stage)());
    },
  },
  {
    name: "the end of a session aborts its transaction",
    async play(stage) {
      await addRecord(stage);
      const own = openSession(stage, "own");
      await own.start();
      await own.note("update", setOffset(stage, 1));
      await stage.note("end", () => own.session.endSession());
      await own.noteState();
      await stage.note("a write", () => setOffset(stage, 2, { next_offset: 0 })({ maxTimeMS: 10_000 }));
    },
  },
  {
    name: "the access to the database",
    async play(stage) {
      const { client, note } = stage;
      await addRecord(stage);
      const database = toDatabase(client, log);
      await note("connect", () => database.connect(new AbortController().signal));
      await note("ping", () => database.ping());
      await note("kill a session that nobody knows", () =>
        database.killSessions([new UUID("00000000-0000-4000-8000-000000000009")]),
      );
      const session = database.startSession();
      if (session === undefined) throw new Error("this store has no transactions");
      await note("a transaction", () =>
        database.runTransaction(session, async () => void (await setOffset(stage, 1)({ session }))),
      );
      await note("one whose work fails", () =>
        database.runTransaction(session, async () => {
          await setOffset(stage, 2)({ session });
          throw new Error("failed");
        }),
      );
      await note("the session's state", () => Promise.resolve(session.inTransaction()));
      await note("the record", () => getOffset(stage)());
      await note("the end of the session", () => session.endSession());
    },
  },
];
