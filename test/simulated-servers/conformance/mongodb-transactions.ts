/** Scenes of transactions and sessions. */
import { UUID } from "mongodb";

import { toDatabase } from "../../../src/storage/database/database.ts";
import { killSessions, readAll, type Scene } from "./mongodb-stores.ts";
import {
  log,
  openSession,
  addRecord,
  setOffset,
  getOffset,
  insertTopic,
  remove,
} from "./mongodb-sessions.ts";
import { topic } from "./mongodb-statements.ts";

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
