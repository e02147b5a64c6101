/** Which index each search uses, as the store explains the commands that were sent. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Document } from "mongodb";

import { createTopicDetailsStore } from "../../../../src/storage/topics/details.ts";
import { toDetailsRecord, type DetailsRecord } from "../../../../src/storage/topics/details-records.ts";
import { toDetails, toNextDetails, type StoredDetails } from "../../../../src/topics/details/details.ts";
import type { DetailsQuery } from "../../../../src/topics/details/store.ts";
import { connectProxiedDatabase } from "../../../support/database.ts";

const sent: Document[] = [];
const { db, database } = await connectProxiedDatabase({ onCommand: (command) => void sent.push(command) });
const store = createTopicDetailsStore(database, { historyRetentionDays: undefined });
const records = db.collection<DetailsRecord>("topicsync_topic_details");

/** More than are sorted in memory. */
const total = 2_500;

/** Everybody has the common values, one in 500 a rare one. */
const details = Array.from({ length: total }, (_, i): StoredDetails => {
  const isRare = i % 500 === 7;
  return toNextDetails(undefined, {
    topic: {
      externalId: `id-${String(i).padStart(4, "0")}`,
      name: "Common",
      namespace: isRare ? "rare" : "usual",
    },
    details: toDetails({
      owner: isRare ? "rare" : "common",
      tags: isRare ? ["common", "rare"] : ["common"],
      labels: { a: isRare ? "rare" : "common" },
      lifecycle: isRare ? "deprecated" : "active",
      description: isRare ? "rarely zebra" : "",
    }),
    membership: { set: isRare ? "rare" : "common" },
    ...{ by: "ann", at: new Date(0) },
  });
});
const rare = details.filter(({ owner }) => owner === "rare").map(({ externalId }) => externalId);
const all = details.map(({ externalId }) => externalId);

before(async () => {
  await records.insertMany(details.map(toDetailsRecord));
});

/** Reads the first page of a search; returns its external ids and the stages that found them. */
async function search(query: Partial<DetailsQuery>, after?: string) {
  sent.length = 0;
  let page: readonly StoredDetails[] = [];
  for await (const batch of store.search({ namespaces: "all", ...query })({ after, batchSize: 5 })) {
    page = batch;
    break;
  }
  const command = sent.find(({ find }) => find === "topicsync_topic_details") ?? {};
  const { find, filter, sort, hint, batchSize } = command;
  const explained = await db.command({ explain: { find, filter, sort, hint, batchSize } });
  return {
    ids: page.map(({ externalId }) => externalId),
    indexes: listIndexes(explained["queryPlanner"] as Document),
    counted: sent.filter(({ aggregate }) => aggregate === "topicsync_topic_details").length,
  };
}

/** The indexes of a plan; "all" for a scan of the collection. */
function listIndexes(plan: Document): string[] {
  const { stage, indexName, winningPlan, inputStage, inputStages = [] } = plan;
  const own = stage === "COLLSCAN" ? ["all"] : stage === "IXSCAN" ? [String(indexName)] : [];
  const below = [winningPlan, inputStage, ...(inputStages as Document[])].filter((one) => one !== undefined);
  return [...own, ...below.flatMap((one) => listIndexes(one as Document))];
}

describe("a search", () => {
  const single: [query: Partial<DetailsQuery>, index: string][] = [
    [{ owner: "rare" }, "details_by_owner"],
    [{ tag: "rare" }, "details_by_tags"],
    [{ label: "a=rare" }, "details_by_labels"],
    [{ lifecycle: "deprecated" }, "details_by_lifecycle"],
    [{ set: "rare" }, "details_by_set"],
    [{ words: ["zeb"] }, "details_by_words"],
    [{ namespaces: [{ namespace: "rare", below: false }] }, "details_by_namespace"],
    [{ namespaces: [{ namespace: "rare", below: true }] }, "details_by_namespace"],
  ];
  for (const [query, index] of single)
    it(`by one condition uses its index: ${JSON.stringify(query)}`, async () => {
      const { ids, indexes } = await search(query);
      assert.deepEqual(ids, rare);
      assert.deepEqual([...new Set(indexes)], [index]);
      const [first, ...others] = rare;
      assert.deepEqual((await search(query, first)).ids, others);
    });

  const combined: [query: Partial<DetailsQuery>, index: string][] = [
    [{ owner: "common", tag: "rare" }, "details_by_tags"],
    [{ owner: "rare", tag: "common" }, "details_by_owner"],
    [{ owner: "common", tag: "common", words: ["rarely", "zebra"] }, "details_by_words"],
    [{ owner: "common", namespaces: [{ namespace: "rare", below: true }] }, "details_by_namespace"],
    [{ words: ["common", "zeb"], lifecycle: "deprecated" }, "details_by_lifecycle"],
  ];
  for (const [query, index] of combined)
    it(`by several conditions uses the index of the rarest: ${JSON.stringify(query)}`, async () => {
      const { ids, indexes } = await search(query);
      const expected = query.owner === "common" ? [] : rare;
      assert.deepEqual(ids, expected);
      assert.deepEqual([...new Set(indexes)], [index]);
    });

  it("by one value counts nothing", async () => {
    assert.equal((await search({ owner: "common" })).counted, 0);
  });

  it("by a common prefix follows the external ids instead of sorting what it finds", async () => {
    const { ids, indexes } = await search({ words: ["com"] });
    assert.deepEqual(ids, all.slice(0, 5));
    assert.ok(!indexes.includes("details_by_words"), indexes.join());
  });

  it("does not mix up two words of one topic", async () => {
    // "common" is after "b" and "rarely" before "s", but no word is in between.
    assert.deepEqual((await search({ words: ["n"] })).ids, []);
    assert.deepEqual((await search({ words: ["zebra", "rarely", "id"] })).ids, rare);
    assert.deepEqual((await search({ words: ["zeb", "rarely"] })).ids, []);
  });
});
