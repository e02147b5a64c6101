import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Document } from "mongodb";

import { maxCounted } from "../../../schemas/dead-letters/dead-letter.ts";
import type { DeadLetterFilter } from "../../../src/dead-letters/stores.ts";
import { createDeadLetterReader } from "../../../src/storage/dead-letters.ts";
import { indexes } from "../../../src/storage/indexes.ts";
import { createInstallationReader } from "../../../src/storage/installations/reader.ts";
import { createTopicReader } from "../../../src/storage/topics/reader.ts";
import type { TopicQuery, TopicSort, TopicSortKey } from "../../../src/topics/listing.ts";
import { connectProxiedDatabase } from "../../support/database.ts";

/**
 * Lists must cost what they show, however many records are stored. No store of the tests reads an index like
 * MongoDB, so the queries are compared with its rule: an index answers a query without a sort, and reads no
 * more than it returns, if its fields are those that the query compares with values, followed by those of
 * the order, and no condition is on another field.
 */

const commands: Document[] = [];
const { db, database } = await connectProxiedDatabase({ onCommand: (one) => void commands.push(one) });

interface Conditions {
  /** Fields that are compared with one value or a few. */
  readonly values: ReadonlySet<string>;
  readonly ranges: ReadonlySet<string>;
}

/** An `$or` has a range of the first field of its first branch: the boundary of a page, or namespaces. */
function readConditions(filter: Document): Conditions {
  const values = new Set<string>();
  const ranges = new Set<string>();
  for (const one of (filter["$and"] ?? [filter]) as Document[])
    for (const [field, condition] of Object.entries(one) as [string, unknown][])
      if (field === "$or") ranges.add(Object.keys((condition as Document[])[0] ?? {})[0] ?? "");
      else if (typeof condition !== "object" || condition === null || "$in" in condition) values.add(field);
      else ranges.add(field);
  return { values, ranges };
}

/** Whether an index answers a query as described above; `sort` may be empty. */
function answers(key: readonly string[], { values, ranges }: Conditions, sort: readonly string[]): boolean {
  const rest = key.filter((field) => !values.has(field) || sort.includes(field));
  const isSorted = sort.every((field, at) => rest[at] === field);
  const prefix = key.findIndex((field) => !values.has(field));
  const hasPrefix = prefix === -1 || key.slice(0, prefix).length === values.size;
  return isSorted && hasPrefix && [...ranges].every((field) => field === key[values.size]);
}

/** The names of the indexes that answer what was sent since the last call. */
function findIndexes(): (string | undefined)[] {
  const queries = commands.splice(0).flatMap((command) => {
    const { find, aggregate, distinct } = command;
    const collection: unknown = find ?? aggregate ?? distinct;
    if (collection === undefined) return [];
    const stages = (command["pipeline"] ?? []) as Document[];
    const filter = (command["filter"] ?? command["query"] ?? stages[0]?.["$match"] ?? {}) as Document;
    return [{ collection, filter, sort: Object.keys((command["sort"] ?? {}) as Document) }];
  });
  return queries.map(({ collection, filter, sort }) => {
    const known = indexes
      .filter((one) => one.collection === collection)
      .map(({ name, key }) => [name, Object.keys(key)] as const);
    const conditions = readConditions(filter);
    return [...known, ["_id_", ["_id"]] as const].find(([, key]) => answers(key, conditions, sort))?.[0];
  });
}

describe("the index that answers a page of", () => {
  const topics = createTopicReader(database);
  const retired = { sort: "retired", descending: true } as const;

  async function findForTopics(
    query: Partial<TopicQuery>,
    sort: TopicSort = "externalId",
    after?: TopicSortKey,
  ): Promise<unknown> {
    commands.length = 0;
    const order = query.state === undefined ? { sort, descending: false } : retired;
    await topics.readSorted({ state: "active", namespaces: "all", ...query }, { order, after, limit: 50 });
    return findIndexes().join();
  }

  it("topics", async () => {
    assert.equal(await findForTopics({}), "unique_topic_id");
    assert.equal(await findForTopics({}, "externalId", ["x"]), "unique_topic_id");
    assert.equal(await findForTopics({ externalIds: ["x"] }), "unique_topic_id");
    assert.equal(await findForTopics({ externalIdPrefix: "x" }), "unique_topic_id");
    assert.equal(await findForTopics({}, "name"), "unique_topic_combination");
    assert.equal(await findForTopics({}, "name", ["n", "", "", ""]), "unique_topic_combination");
    assert.equal(await findForTopics({ namePrefix: "x" }, "name"), "unique_topic_combination");
    assert.equal(await findForTopics({ namespace: "billing" }), "topics_by_namespace");
    assert.equal(await findForTopics({ state: "retired" }), "retired_by_time");
    assert.equal(await findForTopics({ state: "disabled", namespace: "billing" }), "retired_by_namespace");
  });

  it("topics does not exist where docs/scaling.md says so", async () => {
    assert.equal(await findForTopics({}, "changed"), "");
    assert.equal(await findForTopics({ source: "http" }), "");
    assert.equal(await findForTopics({ namespace: "billing.*" }), "");
  });

  const letters = createDeadLetterReader(database, "dead-letters");

  async function findForLetters(filter: Partial<DeadLetterFilter>, isNext = false): Promise<unknown> {
    commands.length = 0;
    const range = {
      batchSize: 51,
      limit: 51,
      ...(isNext && { after: { rank: 1, partition: 0, offset: 1 } }),
    };
    await letters.stream({ namespaces: "all", ...filter }, range).next();
    return findIndexes().join();
  }

  const namespaces = [
    { namespace: "billing", below: false },
    { namespace: "orders", below: false },
  ];
  const codes = ["TOO_LARGE", "BAD_FILTER"];

  it("dead letters", async () => {
    assert.equal(await findForLetters({}), "dead_letters_by_rank");
    assert.equal(await findForLetters({}, true), "dead_letters_by_rank");
    assert.equal(await findForLetters({ codes }), "dead_letters_by_code");
    assert.equal(await findForLetters({ codes }, true), "dead_letters_by_code");
    assert.equal(await findForLetters({ namespaces }), "dead_letters_by_namespace");
    assert.equal(await findForLetters({ namespaces, codes }), "dead_letters_by_namespace_and_code");
  });

  it("the numbers of dead letters, which are counted up to a limit", async () => {
    const collection = db.collection<{ _id: string }>("topicsync_dead_letters");
    const stored = { kafka_topic: "dead-letters", namespace: "billing" };
    await collection.insertOne({ _id: "1", ...stored, code: "TOO_LARGE" } as { _id: string });
    for (const [among, index] of [
      ["all", "dead_letters_by_code"],
      [namespaces, "dead_letters_by_namespace_and_code"],
    ] as const) {
      commands.length = 0;
      assert.deepEqual(await letters.countByCode(among), { TOO_LARGE: 1 });
      const count = commands.find((one) => "aggregate" in one)?.["pipeline"] as Document[];
      assert.equal(count[1]?.["$limit"], maxCounted);
      assert.equal(findIndexes().at(-1), index);
    }
    assert.deepEqual(await letters.countByCode([{ namespace: "others", below: true }]), {});
  });

  it("installations", async () => {
    const installations = createInstallationReader(database);
    const none = { applications: undefined, platforms: undefined, user: undefined, active: undefined };
    const all = { ...none, tokenSuffix: undefined, unseenSince: undefined };
    for (const afterId of [undefined, "0"]) {
      commands.length = 0;
      await installations.read(all, { afterId, limit: 50 });
      assert.equal(findIndexes().join(), "_id_");
    }
  });
});
