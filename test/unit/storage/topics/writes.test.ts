import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { BSON, type Document } from "mongodb";

import { writeTopics, type TopicCollections } from "../../../../src/storage/topics/writes.ts";
import { noWrites } from "../../../../src/topics/snapshot.ts";
import type { Topic } from "../../../../src/topics/topic.ts";
import { createDefinition } from "../../topics/model.ts";

const maxCommandBytes = 16 * 1024 * 1024;
const on = new Date(0);
/** As large as the schema allows, in characters of three bytes. */
const filter = "€".repeat(8_000);

const createTopic = (at: number, more: Partial<Topic> = {}): Topic => ({
  ...createDefinition(`external ${at}`, `name ${at}`),
  ...{ id: String(at).padStart(32, "0"), version: 1, source: { kind: "http", user: "ann" } },
  ...{ createdOn: on, updatedOn: on, ...more },
});

interface InsertCommand {
  readonly documents: readonly Document[];
  readonly maxTimeMS?: number;
}

/** Writes new topics, and returns the commands. */
async function insert(created: readonly Topic[], session?: object): Promise<InsertCommand[]> {
  const sent: InsertCommand[] = [];
  const command = (one: InsertCommand): Promise<object> => {
    sent.push(one);
    return Promise.resolve({});
  };
  const stores = {
    database: { command },
    topics: { collectionName: "topics" },
  } as unknown as TopicCollections;
  await writeTopics({ ...noWrites, created }, stores, { session } as object);
  return sent;
}

const listIds = (commands: readonly InsertCommand[]): string[] =>
  commands.flatMap(({ documents }) => documents.map(({ _id }) => String(_id)));

describe("the insertion of topics", () => {
  it("takes commands that are not larger than MongoDB allows", async () => {
    const { name, namespace } = createTopic(0);
    const previous = { name, namespace, headerQuery: filter, contentQuery: filter, updatedOn: on };
    const formerIds = Array.from({ length: 20 }, () => "€".repeat(1_000));
    const topics = Array.from({ length: 500 }, (_, at) =>
      createTopic(at, {
        ...{ headerQuery: filter, contentQuery: filter, formerIds },
        previous: { ...previous, source: { kind: "http", user: "ann" } },
      }),
    );
    const sent = await insert(topics, {});
    assert.deepEqual(
      listIds(sent),
      topics.map(({ id }) => id),
    );
    for (const command of sent) assert.ok(BSON.calculateObjectSize(command) < maxCommandBytes);
    assert.ok(sent.length < 10, String(sent.length));
  });

  it("takes one command in a transaction, and several side by side without one", async () => {
    const topics = Array.from({ length: 2_000 }, (_, at) => createTopic(at));
    assert.equal((await insert(topics, {})).length, 1);
    const sent = await insert(topics);
    assert.deepEqual(
      sent.map(({ documents, maxTimeMS }) => [documents.length, maxTimeMS]),
      Array.from({ length: 4 }, () => [500, 10_000]),
    );
  });
});
