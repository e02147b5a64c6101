import type { Filter } from "mongodb";

import { getDetailsId, type ReplacedDetails, type StoredDetails } from "../../topics/details/details.ts";
import {
  toDescriptionSortKey,
  type Description,
  type DescriptionSortKey,
  type HistoryPlace,
} from "../../topics/history.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import { compareDescending, findPage, toNamespaceFilter } from "../queries.ts";
import { fromDetailsRecord, toDetailsRecord, type DetailsRecord } from "./details-records.ts";
import { toExpiry } from "./versions.ts";

/** Details that others have replaced. */
export interface DescriptionRecord extends DetailsRecord {
  /** See getDetailsId. */
  _id: string;
  /** The external id. */
  topic_id: string;
  sys_id?: string;
  valid_to: Date;
  /** When MongoDB deletes it; absent: never. */
  expires_on?: Date;
}

export function toDescriptionRecord(
  { details, topicId, endedOn }: ReplacedDetails,
  retentionDays: number | undefined,
): DescriptionRecord {
  const membership = details.membership && { ...details.membership, applied: undefined };
  const { _id: topic_id, ...record } = toDetailsRecord({ ...details, membership, words: [] });
  return {
    ...record,
    ...{ _id: getDetailsId(details), topic_id, valid_to: endedOn },
    ...(topicId !== undefined && { sys_id: topicId }),
    ...toExpiry(endedOn, retentionDays),
  };
}

export const fromDescriptionRecord = ({ topic_id, ...record }: DescriptionRecord): StoredDetails =>
  fromDetailsRecord({ ...record, _id: topic_id });

/** The latest first. */
const compareDescriptions = (a: StoredDetails, b: StoredDetails): number =>
  compareDescending(toDescriptionSortKey(a), toDescriptionSortKey(b));

/** Reads the history of details: current ones are among the details, all others among the descriptions. */
export function createDescriptions(database: Database) {
  const current = database.collection<DetailsRecord>(collections.topicDetails);
  const replaced = database.collection<DescriptionRecord>(collections.topicDescriptions);

  return {
    /** The descriptions of an external id, and of those that a filter finds, the latest first. */
    async read(
      externalId: string,
      filter: Filter<DescriptionRecord>,
      { namespaces, after, limit }: HistoryPlace<DescriptionSortKey>,
    ): Promise<Description[]> {
      const among = (toNamespaceFilter(namespaces) ?? {}) as Filter<DescriptionRecord>;
      const [latest, { records }] = await database.list(() =>
        Promise.all([
          current.findOne({ $and: [{ _id: externalId }, among] } as Filter<DetailsRecord>),
          findPage(replaced, {
            ...{ filter: { $and: [filter, among] }, sort: ["changed_on", "_id"], descending: true },
            ...{ after, limit },
          }),
        ]),
      );
      const first = latest === null ? [] : [fromDetailsRecord(latest)];
      const ids = new Set(first.map(getDetailsId));
      const all = [
        ...first.filter(
          (one) => after === undefined || compareDescending(after, toDescriptionSortKey(one)) < 0,
        ),
        // Without transactions, details may be among the descriptions although nothing replaced them.
        ...records.map(fromDescriptionRecord).filter((one) => !ids.has(getDetailsId(one))),
      ];
      const shown = all.toSorted(compareDescriptions).slice(0, limit);
      const wanted = shown.flatMap(({ replaces }) => replaces ?? []);
      const found = await database.run(() =>
        replaced.find({ $and: [{ _id: { $in: wanted } }, among] }).toArray(),
      );
      const befores = new Map(found.map((record) => [record._id, fromDescriptionRecord(record)]));
      return shown.map((details) => ({ details, before: befores.get(details.replaces ?? "") }));
    },

    /** The details of these external ids that were in force at a time. */
    async findAt(externalIds: readonly string[], at: Date): Promise<StoredDetails[]> {
      const ids = { $in: [...externalIds] };
      // Current ones first: what is replaced in between is then found among the descriptions.
      const latest = await database.run(() => current.find({ _id: ids, changed_on: { $lte: at } }).toArray());
      const found = await database.run(() =>
        replaced.find({ topic_id: ids, changed_on: { $lte: at }, valid_to: { $gt: at } }).toArray(),
      );
      const all = [...found.map(fromDescriptionRecord), ...latest.map(fromDetailsRecord)];
      const byId = Map.groupBy(all, ({ externalId }) => externalId);
      return [...byId.values()].flatMap((some) => some.toSorted(compareDescriptions).slice(0, 1));
    },
  };
}
