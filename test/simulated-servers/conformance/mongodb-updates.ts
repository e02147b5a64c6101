/** Scenes of single updates outside transactions. */
import { UUID } from "mongodb";

import { readAll, type Scene } from "./mongodb-stores.ts";
import { at, installation, key, topic } from "./mongodb-statements.ts";

const first = new UUID("00000000-0000-4000-8000-000000000001");
const second = new UUID("00000000-0000-4000-8000-000000000002");
const third = new UUID("00000000-0000-4000-8000-000000000003");

export const updateScenes: readonly Scene[] = [
  {
    name: "updates of one record and of many, and what they count",
    async play({ installations, note }) {
      await installations.insertMany([
        installation("a"),
        installation("b", { user: "bob" }),
        installation("c", { active: false }),
      ]);
      const off = { $set: { active: false, deactivated_on: at(2), deactivated_reason: "removed" } };
      const one = async (filter: object, update: object) => {
        const { matchedCount, modifiedCount } = await installations.updateOne(filter, update);
        return { matchedCount, modifiedCount };
      };
      const many = async (filter: object, update: object) => {
        const { matchedCount, modifiedCount } = await installations.updateMany(filter, update);
        return { matchedCount, modifiedCount };
      };
      await note("one that matches", () => one({ _id: "a", token: "token a", active: true }, off));
      await note("one that matches no more", () => one({ _id: "a", token: "token a", active: true }, off));
      await note("one that does not change", () => one({ _id: "a" }, off));
      await note("the first of several", () => one({ application: "app", active: true }, off));
      await note("many", () => many({ _id: { $in: ["a", "b", "c"] } }, off));
      await note("many that do not change", () => many({ application: "app" }, off));
      await note("none", () => many({ _id: { $in: [] } }, off));
      await note("the records", () => readAll(installations));
    },
  },
  {
    name: "the operators of an update",
    async play({ positions, note }) {
      const apply = (step: string, update: object) =>
        note(step, async () => {
          await positions.updateOne({ _id: key(0) }, update);
          return positions.findOne({ _id: key(0) });
        });
      await positions.insertOne({ _id: key(0), next_offset: 3 });
      await apply("pull from an absent list", { $pullAll: { sessions: [first] } });
      await apply("unset what is absent", { $unset: { sessions: "" } });
      await apply("add to an absent list", { $set: { claim: first }, $addToSet: { sessions: first } });
      await apply("add what is there", { $addToSet: { sessions: first } });
      await apply("add another", { $addToSet: { sessions: second } });
      await apply("pull some", { $pullAll: { sessions: [first, third] } });
      await apply("pull the last", { $pullAll: { sessions: [second] } });
      await apply("unset", { $set: { claim: second }, $unset: { sessions: "" } });
      for (const user of ["ada", "bob", "eve"])
        await apply(`push ${user}`, {
          $push: { previous_owners: { $each: [{ user, until: at(1) }], $slice: -2 } },
        });
      await apply("set undefined", { $set: { next_offset: undefined, epoch: 2 } });
      await apply("set undefined within an object", { $set: { source: { kind: "http", user: undefined } } });
    },
  },
  {
    name: "records as they are read back",
    async play({ topics, note }) {
      const source: Record<string, unknown> = { kind: "http", user: undefined, at: at(1) };
      await topics.insertOne(topic("a", { source, previous: undefined }));
      source["kind"] = "changed after it was stored";
      await note("undefined is not stored", () => topics.findOne({ _id: "a" }));
      await note("nor are the names of what is undefined", async () => {
        const record = await topics.findOne({ _id: "a" });
        return [Object.keys(record ?? {}).toSorted(), Object.keys(record?.["source"] ?? {})];
      });
      await note("what a reader changes is not stored", async () => {
        const read = await topics.findOne({ _id: "a" });
        Object.assign(read?.["source"] ?? {}, { kind: "changed" });
        return topics.findOne({ _id: "a" });
      });
    },
  },
  {
    name: "upserts",
    async play({ installations, positions, note }) {
      const register = (id: string, user: string, updatedOn: Date) => ({
        filter: {
          token: "token",
          application: "app",
          platform: "fcm",
          user,
          sys_updated_on: { $not: { $gte: updatedOn } },
        },
        update: {
          $set: { active: true, sys_updated_on: updatedOn, last_seen_on: updatedOn },
          $unset: { deactivated_on: "", deactivated_reason: "" },
          $setOnInsert: { _id: id, sys_created_on: updatedOn },
        },
      });
      const upsert = (step: string, id: string, user: string, updatedOn: Date) =>
        note(step, async () => {
          const { filter, update } = register(id, user, updatedOn);
          const { matchedCount } = await installations.updateOne(filter, update as object, { upsert: true });
          return { matchedCount, records: await readAll(installations) };
        });
      await upsert("a new record", "a", "ada", at(2));
      await upsert("the same record", "b", "ada", at(3));
      await upsert("an older statement", "c", "ada", at(1));
      await upsert("the same statement again", "c", "ada", at(3));
      await upsert("another user's token", "d", "bob", at(4));
      await note("the records after what was rejected", () => readAll(installations));

      const claim = (update: object, upsert = true) =>
        positions.findOneAndUpdate({ _id: key(0) }, update, {
          upsert,
          returnDocument: "after",
          maxTimeMS: 10_000,
        });
      await note("no record without upsert", () => claim({ $set: { claim: first } }, false));
      await note("a new position", () => claim({ $set: { claim: first }, $addToSet: { sessions: first } }));
      await note("the same position", () =>
        claim({ $set: { claim: second }, $addToSet: { sessions: second } }),
      );
      await note("without sessions", () => claim({ $set: { claim: third }, $unset: { sessions: "" } }));
    },
  },
  {
    name: "replacements, one by one and in bulk",
    async play({ topics, retired, note }) {
      await topics.insertMany([topic("a"), topic("b", { previous: { topic_name: "old" } })]);
      const replace = (id: string, fields: object, upsert = false) => {
        const { _id, ...replacement } = topic(id, fields);
        return { replaceOne: { filter: { _id }, replacement, upsert } };
      };
      await note("all match", async () => {
        const { matchedCount } = await topics.bulkWrite(
          [replace("a", { topic_name: "new a" }), replace("b", { topic_name: "new b" })],
          { ordered: true },
        );
        return matchedCount;
      });
      await note("one does not match", async () => {
        const { matchedCount } = await topics.bulkWrite([replace("absent", {}), replace("a", {})]);
        return matchedCount;
      });
      await note("a duplicate stops what is ordered", () =>
        topics.bulkWrite([
          replace("a", { topic_name: "newer a" }),
          replace("b", { topic_id: "external a" }),
          replace("a", { topic_name: "not stored" }),
        ]),
      );
      await note("the records", () => readAll(topics));
      await note("upserts", async () => {
        const { matchedCount } = await retired.bulkWrite([
          replace("a", { retired_on: at(2) }, true),
          replace("b", { retired_on: at(3) }, true),
          replace("a", { retired_on: at(4) }, true),
        ]);
        return { matchedCount, records: await readAll(retired) };
      });
      await note("deletions", async () => {
        const { deletedCount } = await topics.bulkWrite([
          { deleteOne: { filter: { _id: "a", version: { $in: [1, null] } } } },
          { deleteOne: { filter: { _id: "b", version: 2 } } },
          { deleteOne: { filter: { _id: "absent" } } },
        ]);
        return { deletedCount, records: await readAll(topics) };
      });
      await note("one upsert", async () => {
        await retired.replaceOne({ _id: "c" }, { retired_on: at(5) }, { upsert: true });
        return retired.findOne({ _id: "c" });
      });
    },
  },
  {
    name: "the raw update command",
    async play({ db, installations, note }) {
      await installations.insertMany([
        installation("a", { user: "bob" }),
        installation("b"),
        installation("c"),
      ]);
      const send = async (updates: readonly object[]) => {
        const { writeErrors = [] } = await db.command({
          update: installations.collectionName,
          updates,
          ordered: false,
          maxTimeMS: 10_000,
        });
        return (writeErrors as { index: number; code: number }[]).map(({ index, code }) => ({ index, code }));
      };
      const upsert = (id: string, token: string) => ({
        q: { token, application: "app", platform: "fcm", user: "ada" },
        u: { $set: { active: true }, $setOnInsert: { _id: id } },
        upsert: true,
      });
      const off = { $set: { active: false } };
      await note("without errors", () =>
        send([
          upsert("d", "token d"),
          { q: { _id: "a", token: "token a", active: true, last_seen_on: at(1) }, u: off },
          { q: { _id: { $in: [] } }, u: off, multi: true },
        ]),
      );
      await note("with upserts that the unique index rejects", () =>
        send([
          upsert("e", "token a"),
          { q: { token: "token b" }, u: { $set: { active: true } } },
          upsert("f", "token f"),
          upsert("a", "token g"),
        ]),
      );
      await note("the records", () => readAll(installations));
    },
  },
];
