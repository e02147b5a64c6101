/** Scenes of writes that wait for a transaction. */
import { killSessions, readAll, type Scene } from "./mongodb-stores.ts";
import {
  key,
  openSession,
  addRecord,
  setOffset,
  getOffset,
  insertTopic,
  remove,
} from "./mongodb-sessions.ts";
import { at } from "./mongodb-statements.ts";

export const waitScenes: readonly Scene[] = [
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
];
