/** Scenes of change streams, as the index of topics follows them. */
import type { ChangeStream, ChangeStreamDocument } from "mongodb";

import { topic } from "./mongodb-statements.ts";
import type { Scene, Stage } from "./mongodb-stores.ts";

/** Opens a stream as the product does. */
async function openStream({ topics }: Stage): Promise<ChangeStream> {
  const stream = topics.watch([{ $match: { operationType: { $in: ["insert", "replace", "update"] } } }], {
    fullDocument: "updateLookup",
    readConcern: { level: "majority" },
  });
  await stream.tryNext();
  return stream;
}

/** The records that the next changes are about, as they are when they are looked up. */
async function readChanges(stream: ChangeStream, count: number): Promise<readonly unknown[]> {
  const changes: unknown[] = [];
  for (let number = 0; number < count; number += 1) {
    const change = (await stream.next()) as ChangeStreamDocument & { readonly fullDocument?: object };
    changes.push([change.operationType, change.fullDocument ?? null]);
  }
  return changes;
}

export const streamScenes: readonly Scene[] = [
  {
    name: "a change stream reports what is stored after it was opened, in this order",
    async play(stage) {
      const { topics, note } = stage;
      await topics.insertOne(topic("before"));
      const stream = await openStream(stage);
      await topics.insertOne(topic("a"));
      await note("an insertion", () => readChanges(stream, 1));
      await topics.updateOne({ _id: "a" }, { $set: { topic_name: "updated" } });
      await topics.updateOne({ _id: "a" }, { $set: { topic_name: "updated" } });
      await topics.updateOne({ _id: "none" }, { $set: { topic_name: "updated" } });
      await topics.replaceOne({ _id: "before" }, topic("before", { topic_name: "replaced" }));
      await note("an update, two that change nothing, and a replacement", () => readChanges(stream, 2));
      await topics.updateOne({ _id: "a" }, { $set: { topic_name: "first" } });
      await topics.updateOne({ _id: "a" }, { $set: { topic_name: "second" } });
      await note("updates of one record", () => readChanges(stream, 2));
      await topics.updateOne({ _id: "a" }, { $set: { topic_name: "third" } });
      await topics.deleteOne({ _id: "a" });
      await topics.insertOne(topic("b"));
      await note("an update of a record that is gone", () => readChanges(stream, 2));
      await stream.close();
    },
  },
  {
    name: "a change stream reports a transaction once it is committed",
    async play(stage) {
      const { client, topics, note } = stage;
      const stream = await openStream(stage);
      const aborted = client.startSession();
      aborted.startTransaction();
      await topics.insertOne(topic("aborted"), { session: aborted });
      await aborted.abortTransaction();
      const session = client.startSession();
      session.startTransaction();
      await topics.insertOne(topic("first"), { session });
      await topics.insertOne(topic("outside"));
      await topics.insertOne(topic("second"), { session });
      await session.commitTransaction();
      await topics.insertOne(topic("last"));
      await note("all changes", () => readChanges(stream, 4));
      await stream.close();
    },
  },
];
