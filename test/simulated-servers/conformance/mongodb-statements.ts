/** Scenes of single statements outside transactions. */
import { UUID } from "mongodb";

import { readAll, sort, type Scene } from "./mongodb-stores.ts";

export const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds));

export const topic = (id: string, fields: object = {}) => ({
  _id: id,
  topic_id: `external ${id}`,
  topic_name: `name ${id}`,
  namespace: "inventory",
  header_query: "",
  content_query: "",
  source: { kind: "announcement", topic: "announcements", partition: 0, offset: 1 },
  sys_updated_on: at(1),
  ...fields,
});
export const installation = (id: string, fields: object = {}) => ({
  _id: id,
  token: `token ${id}`,
  application: "app",
  platform: "fcm",
  user: "ada",
  active: true,
  sys_updated_on: at(1),
  last_seen_on: at(1),
  ...fields,
});

export const key = (partition: number) => ({ group: "group", topic: "announcements", partition });
const first = new UUID("00000000-0000-4000-8000-000000000001");
const second = new UUID("00000000-0000-4000-8000-000000000002");

export const statementScenes: readonly Scene[] = [
  {
    name: "a search by lists, by paths and by what is absent",
    async play({ topics, note }) {
      await topics.insertMany([
        topic("a"),
        topic("b", { source: { kind: "http", user: "ada" } }),
        topic("c", { source: { kind: "announcement", topic: "announcements", partition: 1, offset: 7 } }),
        topic("d", { source: "unknown", epoch: null }),
      ]);
      const find = (step: string, filter: object) => note(step, () => readAll(topics, filter));
      await find("a list of ids", { _id: { $in: ["a", "c", "absent"] } });
      await find("an empty list", { topic_id: { $in: [] } });
      await find("a list with null", { epoch: { $in: [null, "other"] } });
      await find("lists and values", {
        topic_name: { $in: ["name a", "name b"] },
        namespace: "inventory",
        header_query: { $in: [""] },
        content_query: "",
      });
      await find("paths", { "source.topic": "announcements", "source.partition": 0 });
      await find("a path with a list", { "source.partition": { $in: [1, 2] } });
      await find("a path that is absent", { "source.kind": null });
      await find("a longer path that is absent", { "source.kind.detail": null });
      await find("the text of a number", { "source.partition": "0" });
      await find("the text null", { "source.kind": "null" });
      await find("a time", { sys_updated_on: at(1) });
      await find("the number of a time", { sys_updated_on: at(1).getTime() });
      await find("the text of a time", { sys_updated_on: at(1).toISOString() });
      await find("an absent option", { topic_id: "external a", namespace: undefined });
    },
  },
  {
    name: "one record, a projection and a cursor",
    async play({ topics, note }) {
      await topics.insertMany([topic("a"), topic("b", { source: { kind: "http" } })]);
      await note("one record", () => topics.findOne({ _id: "a" }));
      await note("none", () => topics.findOne({ _id: "absent" }));
      await note("some fields", async () =>
        sort(await topics.find({}, { projection: { topic_id: 1, source: 1, absent: 1 } }).toArray()),
      );
      await note("a path without the id", async () =>
        sort(await topics.find({}, { projection: { _id: 0, "source.topic": 1, topic_id: 1 } }).toArray()),
      );
      await note("a projection of a cursor that is read record by record", async () => {
        const records: object[] = [];
        const cursor = topics.find({ namespace: "inventory" }, { batchSize: 1 });
        for await (const record of cursor.project({ source: 1, sys_updated_on: 1 })) records.push(record);
        return sort(records);
      });
    },
  },
  {
    name: "a position by its id, and as long as it is unset",
    async play({ positions, note }) {
      await positions.insertMany([
        { _id: key(0), claim: first },
        { _id: key(1), next_offset: 5, moved_by: second, sessions: [first, second] },
        { _id: key(2), next_offset: 5, epoch: 2 },
        { _id: { ...key(3), group: "other" }, next_offset: null },
      ]);
      await note("a group", () => readAll(positions, { "_id.group": "group", "_id.topic": "announcements" }));
      await note("unset", () => positions.findOne({ _id: key(0), next_offset: null, epoch: null }));
      await note("set", () => positions.findOne({ _id: key(1), next_offset: 5, epoch: null }));
      await note("not unset any more", () => positions.findOne({ _id: key(1), next_offset: null }));
      await note("another epoch", () => positions.findOne({ _id: key(2), next_offset: 5, epoch: null }));
      await note("an id with its fields in another order", () =>
        positions.findOne({ _id: { topic: "announcements", group: "group", partition: 0 } }),
      );
      await note("null", () => readAll(positions, { next_offset: null }));
    },
  },
  {
    name: "comparisons with times that are missing, null, texts or numbers",
    async play({ installations, note }) {
      await installations.insertMany([
        installation("before", { last_seen_on: at(1) }),
        installation("equal", { last_seen_on: at(2) }),
        installation("after", { last_seen_on: at(3) }),
        installation("absent", { last_seen_on: undefined }),
        installation("null", { last_seen_on: null }),
        installation("text", { last_seen_on: "2030-01-01" }),
        installation("digits", { last_seen_on: "9999999999999" }),
        installation("low digits", { last_seen_on: "1" }),
        installation("number", { last_seen_on: 9_999_999_999_999 }),
        installation("low number", { last_seen_on: 1 }),
        installation("object", { last_seen_on: { on: at(3) } }),
      ]);
      const ids = async (filter: object) =>
        (await installations.find(filter).toArray()).map(({ _id }) => _id).toSorted();
      await note("not after", () => ids({ last_seen_on: { $not: { $gt: at(2) } } }));
      await note("older", () => ids({ last_seen_on: { $not: { $gte: at(2) } } }));
      await note("after", () => ids({ last_seen_on: { $gt: at(2) } }));
      await note("before", () => ids({ last_seen_on: { $lt: at(2) } }));
      await note("not after the beginning of time", () =>
        ids({ active: true, last_seen_on: { $not: { $gt: new Date(0) } } }),
      );
      await note("as it was read, absent", () => ids({ last_seen_on: null }));
      await note("as it was read, a time", () => ids({ last_seen_on: at(2) }));
      await note("as it was read, a text", () => ids({ last_seen_on: "2030-01-01" }));
      await note("the later of two times", async () => {
        await installations.updateMany({}, { $max: { last_seen_on: at(2) } });
        return readAll(installations);
      });
    },
  },
  {
    name: "insertions with duplicates",
    async play({ topics, note }) {
      await note("a record", () =>
        topics.insertOne(topic("a"), { maxTimeMS: 10_000 }).then(() => "inserted"),
      );
      await note("its id again", () =>
        topics.insertOne(topic("a", { topic_id: "other", topic_name: "other" })),
      );
      await note("its external id again", () => topics.insertOne(topic("b", { topic_id: "external a" })));
      await note("its combination again", () => topics.insertOne(topic("b", { topic_name: "name a" })));
      await note("in order", () =>
        topics.insertMany([topic("c"), topic("d", { topic_id: "external a" }), topic("e")]),
      );
      await note("in no order", () =>
        topics.insertMany(
          [topic("f"), topic("g", { topic_id: "external a" }), topic("h"), topic("f"), topic("i")],
          { ordered: false },
        ),
      );
      await note("the records", () => readAll(topics));
    },
  },
  {
    name: "deletions",
    async play({ topics, note }) {
      await topics.insertMany([topic("a"), topic("b"), topic("c", { source: { kind: "http" } })]);
      const asRead = { _id: "c", sys_updated_on: at(1), "source.kind": "http" };
      const remove = async (filter: object) => (await topics.deleteOne(filter)).deletedCount;
      await note("a changed record", () => remove({ ...asRead, sys_updated_on: at(2) }));
      await note("a record", () => remove(asRead));
      await note("it again", () => remove(asRead));
      await note(
        "several",
        async () => (await topics.deleteMany({ _id: { $in: ["a", "b", "x"] } })).deletedCount,
      );
      await note("what they freed", () =>
        topics.insertOne(topic("d", { topic_id: "external a" })).then(() => "ok"),
      );
      await note("the records", () => readAll(topics));
    },
  },
  {
    name: "what a unique index takes for the same",
    async play({ topics, installations, note }) {
      const insert = (step: string, fields: object) =>
        note(step, () => topics.insertOne(topic(step, fields)).then(() => "inserted"));
      await insert("absent", { topic_id: undefined });
      await insert("null", { topic_id: null });
      await insert("the text null", { topic_id: "null" });
      await insert("a number", { topic_id: 5 });
      await insert("the text of the number", { topic_id: "5" });
      await insert("a time", { topic_id: at(1) });
      await insert("the text of the time", { topic_id: at(1).toISOString() });
      await insert("another case", { topic_id: "EXTERNAL A" });
      await insert("an empty text", { topic_id: "" });
      await installations.insertMany([installation("a"), installation("b")]);
      await note("an update to the value of another record", () =>
        installations.updateOne({ _id: "b" }, { $set: { token: "token a" } }),
      );
      await note("an update of one part of the key", () =>
        installations
          .updateOne({ _id: "b" }, { $set: { token: "token a", platform: "apns" } })
          .then(({ matchedCount }) => matchedCount),
      );
      await note("an update to the record's own value", () =>
        installations
          .updateOne({ _id: "a" }, { $set: { token: "token a", user: "bob" } })
          .then(({ matchedCount }) => matchedCount),
      );
    },
  },
];
