import type { Collection, Filter } from "mongodb";

import type { DetailsQuery, TopicDetailsStore } from "../../topics/details/store.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import { fromDetailsRecord, type DetailsRecord } from "./details-records.ts";
import { matchAll, streamBatches, toNamespaceFilter, toPrefixRange } from "../queries.ts";

/** A condition of a search, and the index that finds the records that meet it. */
interface Condition {
  readonly filter: Filter<DetailsRecord>;
  readonly index: Readonly<Record<string, 1>>;
  /** Whether the index returns them in the order of external ids. Others are sorted in memory. */
  readonly isSorted: boolean;
}

/** A condition that more records meet is not rare: reading and sorting all of them would take too long. */
const maxRareRecords = 2_000;
const allByExternalId = { _id: 1 } as const;

/** Creates the search of the details in a collection; see TopicDetailsStore. */
export const createDetailsSearch =
  (database: Database, all: Collection<DetailsRecord>): TopicDetailsStore["search"] =>
  (query) => {
    const conditions = toConditions(query);
    let choice: Promise<Condition["index"]> | undefined;
    return async function* read({ after, batchSize }) {
      choice ??= database.list(async () => {
        // A hint for an index that was dropped is an error.
        await database.ensureIndexes(collections.topicDetails);
        return chooseIndex(all, conditions);
      });
      const filters = conditions.map(({ filter }) => filter);
      if (after !== undefined) filters.push({ _id: { $gt: after } });
      const cursor = all.find(matchAll(filters), {
        sort: allByExternalId,
        hint: await choice,
        batchSize,
      });
      yield* streamBatches(database, { cursor, as: "list" }, fromDetailsRecord);
    };
  };

/**
 * Chooses the index of the rarest condition; the others filter what it finds. If none is rare, a page is
 * found soon in the order of external ids.
 */
async function chooseIndex(
  all: Collection<DetailsRecord>,
  conditions: readonly Condition[],
): Promise<Condition["index"]> {
  const [only] = conditions;
  if (conditions.length === 1 && only?.isSorted) return only.index;
  const counted = await Promise.all(
    conditions.map(async ({ filter, index, isSorted }) => ({
      index,
      isSorted,
      count: await all.countDocuments(filter, { hint: index, limit: maxRareRecords }),
    })),
  );
  const usable = counted.filter(({ isSorted, count }) => isSorted || count < maxRareRecords);
  const [rarest] = usable.toSorted((one, other) => one.count - other.count);
  return rarest?.index ?? allByExternalId;
}

function toConditions(query: DetailsQuery): Condition[] {
  const { owner, tag, label, lifecycle, set, words = [], namespaces } = query;
  const fields = { owner, tags: tag, labels: label, lifecycle, set };
  const conditions = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [toEquality(field, value)],
  );
  conditions.push(...words.slice(0, -1).map((word) => toEquality("words", word)));
  const prefix = words.at(-1);
  if (prefix !== undefined)
    conditions.push({
      // Without $elemMatch, one word could meet the lower bound and another one the upper.
      filter: { words: { $elemMatch: toPrefixRange(prefix) } },
      index: toIndex("words"),
      isSorted: false,
    });
  const filter = toNamespaceFilter(namespaces);
  if (filter !== undefined && namespaces !== "all")
    conditions.push({
      filter,
      index: toIndex("namespace"),
      isSorted: !namespaces.some(({ below }) => below),
    });
  return conditions;
}

const toEquality = (field: string, value: string): Condition => ({
  filter: { [field]: value },
  index: toIndex(field),
  isSorted: true,
});

const toIndex = (field: string): Condition["index"] => ({ [field]: 1, _id: 1 });
