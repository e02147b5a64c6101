import type { Filter } from "mongodb";

import { RejectionError, TransactionConflictError } from "@topicsync/lib/errors";
import {
  createOriginRejection,
  type SetWrites,
  type TopicSet,
  type TopicSetStore,
} from "../../plans/stores.ts";
import { DetailsConflictError } from "../../topics/details/store.ts";
import type { Database } from "../database/database.ts";
import { isDuplicate } from "../database/failures.ts";
import { collections } from "../names.ts";
import type { SessionOptions } from "../positions.ts";
import { toNamespaceFilter } from "../queries.ts";
import { openDetailsCollections, writeDetails, writeReplaced } from "./details.ts";

interface SetRecord {
  _id: string;
  /** Grows with each apply. */
  version?: number;
  origin?: string;
  created_on: Date;
  created_by: string;
  namespace: string[];
  applies: ApplyRecord[];
}

interface ApplyRecord {
  plan: string;
  revision?: string;
  by: string;
  started_on: Date;
  ended_on: Date;
  applied: number;
  total: number;
}

const maxApplies = 100;
/** A record has at most 16 MiB. */
const maxNamespaces = 1_000;

export function createTopicSetStore(
  database: Database,
  { historyRetentionDays }: { readonly historyRetentionDays: number | undefined },
): TopicSetStore {
  const sets = database.collection<SetRecord>(collections.topicSets);
  const stores = openDetailsCollections(database, historyRetentionDays);

  /**
   * Replaces the record of a set, unless it was changed since it was read: not every product makes that a
   * conflict of the transactions.
   */
  async function record(writes: SetWrites, options: SessionOptions): Promise<void> {
    for (;;) {
      const current = await sets.findOne({ _id: writes.set }, options);
      if (current !== null) writes.check?.(fromSetRecord(current));
      if (current?.origin !== undefined && current.origin !== writes.origin)
        throw createOriginRejection(writes.set, current.origin, writes.origin);
      const { _id, ...next } = addApply(current, writes);
      // A filter for null matches an absent field.
      const read = { _id, version: current?.version ?? null } as Filter<SetRecord>;
      const upsert = current === null;
      const { matchedCount, upsertedCount } = await sets.replaceOne(read, next, { ...options, upsert });
      if (matchedCount + upsertedCount > 0) return;
      if (options.session !== undefined)
        throw new TransactionConflictError(`the set ${_id} was changed at the same time`);
    }
  }

  return {
    getDatabaseId: () => database.getId(),
    getPrimary: () => database.getPrimary(),
    confirmReads: (primary) =>
      database.run(() => database.confirmReads(primary, [collections.topics, collections.topicDetails])),

    find: (name) =>
      database.run(async () => {
        const found = await sets.findOne({ _id: name });
        return found === null ? undefined : fromSetRecord(found);
      }),

    list: (namespaces) =>
      database.list(async () => {
        const among = (toNamespaceFilter(namespaces) ?? {}) as Filter<SetRecord>;
        return (await sets.find(among, { sort: { _id: 1 } }).toArray()).map(fromSetRecord);
      }),

    async write(writes, transaction) {
      const options = transaction as SessionOptions;
      await writeReplaced(stores, writes.replacedDetails, options);
      for (const { externalId: _id, version } of writes.removedDetails) {
        const { deletedCount } = await stores.details.deleteOne({ _id, version }, options);
        if (deletedCount === 0) throw new DetailsConflictError();
      }
      await writeDetails(stores, { details: writes.details }, options);
      await record(writes, options).catch((error: unknown) => {
        throw isDuplicate(error) ? new DetailsConflictError({ cause: error }) : error;
      });
    },
  };
}

export function addApply(current: SetRecord | null, writes: SetWrites): SetRecord {
  const { set, origin = current?.origin, on, namespaces, applied } = writes;
  const { plan, revision, by, total } = writes.apply;
  const [last, ...older] = current?.applies ?? [];
  const isContinued = last?.plan === plan;
  const apply: ApplyRecord = {
    plan,
    ...(revision !== undefined && { revision }),
    by,
    started_on: isContinued ? last.started_on : on,
    ended_on: on,
    applied: (isContinued ? last.applied : 0) + applied,
    total,
  };
  const others = last === undefined || isContinued ? older : [last, ...older];
  const known = new Set([...(current?.namespace ?? []), ...namespaces]);
  if (known.size > maxNamespaces)
    throw new RejectionError(
      "SCHEMA_VIOLATION",
      `The set "${set}" would have topics in ${known.size} namespaces. At most ${maxNamespaces} are allowed: divide the files among several sets.`,
    );
  return {
    _id: set,
    version: (current?.version ?? 0) + 1,
    ...(origin !== undefined && { origin }),
    created_on: current?.created_on ?? on,
    created_by: current?.created_by ?? by,
    namespace: [...known].toSorted(),
    applies: [apply, ...others].slice(0, maxApplies),
  };
}

export const fromSetRecord = ({ _id: name, origin, namespace, ...record }: SetRecord): TopicSet => ({
  view: {
    name,
    ...(origin !== undefined && { origin }),
    createdOn: record.created_on.toISOString(),
    createdBy: record.created_by,
    applies: record.applies.map(({ plan, revision, by, started_on, ended_on, applied, total }) => ({
      plan,
      ...(revision !== undefined && { revision }),
      by,
      startedOn: started_on.toISOString(),
      endedOn: ended_on.toISOString(),
      applied,
      total,
    })),
  },
  namespaces: namespace,
});
