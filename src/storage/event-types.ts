import {
  valueKinds,
  type PathStatistics,
  type TypeStatistics,
  type ValueKind,
} from "../event-types/event-type.ts";
import { toSummary } from "../event-types/generations.ts";
import type { EventTypeStore, StoredEventType } from "../event-types/stores.ts";
import { maxUpdateMs } from "./client-options.ts";
import type { Database } from "./database.ts";
import { isDuplicate } from "./failures.ts";
import { collections } from "./names.ts";

interface TypeRecord {
  /** The event type. */
  _id: string;
  version: number;
  events: number;
  first_on: Date;
  generations: GenerationRecord[];
}

interface GenerationRecord {
  events: number;
  sampled: number;
  first_on: Date;
  last_on: Date;
  complete: boolean;
  path_count: number;
  /** Names of events are values here, never names of members: they may contain anything. */
  paths: PathRecord[];
}

interface PathRecord {
  path: string[];
  events: number;
  /** In the order of `valueKinds`. */
  kinds: number[];
  number_texts: number;
  time_texts: number;
  first_on: Date;
  last_on: Date;
  only_name?: true;
  values?: string[];
  many_values?: true;
}

export function createEventTypeStore(database: Database): EventTypeStore {
  const types = database.collection<TypeRecord>(collections.eventTypes);

  async function replace({ name, version, ...type }: StoredEventType): Promise<boolean> {
    const record = {
      version: version + 1,
      events: type.events,
      first_on: type.firstOn,
      generations: type.generations.map(toGeneration),
    };
    const options = { maxTimeMS: maxUpdateMs };
    if (version > 0)
      return (await types.replaceOne({ _id: name, version }, record, options)).matchedCount === 1;
    try {
      await types.insertOne({ _id: name, ...record }, options);
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  return {
    list: () =>
      database.list(async () => {
        const projection = { "generations.paths": 0 };
        const records = await types.find({}, { projection, sort: { _id: 1 } }).toArray();
        return records.map((record) =>
          toSummary(
            fromRecord(record),
            record.generations.map((one) => ({
              ...fromGeneration({ ...one, paths: [] }),
              pathCount: one.path_count,
            })),
          ),
        );
      }),
    find: (names) =>
      database.run(async () => {
        const records = await types.find({ _id: { $in: [...names] } }).toArray();
        return records.map((record) => ({
          ...fromRecord(record),
          generations: record.generations.map(fromGeneration),
        }));
      }),
    replace: (type) => database.run(() => replace(type)),
    // Statistics can be wrong after a crash. By the index, since a record has up to 2 MB.
    countUpTo: (limit) => database.run(() => types.countDocuments({}, { limit, hint: { _id: 1 } })),
    delete: (name) =>
      database.run(async () => {
        const { deletedCount } = await types.deleteOne({ _id: name }, { maxTimeMS: maxUpdateMs });
        return deletedCount === 1;
      }),
  };
}

const fromRecord = ({ _id: name, version, events, first_on: firstOn }: TypeRecord) => ({
  name,
  version,
  events,
  firstOn,
});

export const toGeneration = ({ paths, ...counts }: TypeStatistics): GenerationRecord => ({
  events: counts.events,
  sampled: counts.sampled,
  first_on: counts.firstOn,
  last_on: counts.lastOn,
  complete: counts.isComplete,
  path_count: paths.length,
  paths: paths.map(toPathRecord),
});

export const fromGeneration = (record: GenerationRecord): TypeStatistics => ({
  events: record.events,
  sampled: record.sampled,
  firstOn: record.first_on,
  lastOn: record.last_on,
  isComplete: record.complete,
  paths: record.paths.map(fromPathRecord),
});

const toPathRecord = (one: PathStatistics): PathRecord => ({
  path: [...one.path],
  events: one.events,
  kinds: valueKinds.map((kind) => one.kinds[kind]),
  number_texts: one.texts.number,
  time_texts: one.texts.time,
  first_on: one.firstOn,
  last_on: one.lastOn,
  ...(one.isOnlyName && { only_name: true }),
  ...(one.values && { values: [...one.values] }),
  ...(one.hasManyValues && { many_values: true }),
});

const fromPathRecord = ({ kinds, ...record }: PathRecord): PathStatistics => ({
  path: record.path,
  events: record.events,
  kinds: Object.fromEntries(valueKinds.map((kind, at) => [kind, kinds[at] ?? 0])) as Record<
    ValueKind,
    number
  >,
  texts: { number: record.number_texts, time: record.time_texts },
  firstOn: record.first_on,
  lastOn: record.last_on,
  isOnlyName: record.only_name,
  values: record.values,
  hasManyValues: record.many_values,
});
