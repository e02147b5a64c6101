/** What the contract says that a batch does, at one version of what is stored. */
import { applyOneToModel, putInModel, type Model, type ModelTopic } from "../unit/topics/model.ts";
import type { StoredRecord } from "../simulated-servers/index.ts";
import type { IdentifiedLog } from "./sync-topic.ts";
import {
  describe,
  describeReplaced,
  epochSize,
  toAnnouncement,
  toCombination,
  type Effect,
  type Position,
} from "./sync-changes.ts";

/** Everything that was stored after a commit. */
export interface Version {
  readonly commit: number;
  readonly topics: ReadonlyMap<string, ModelTopic>;
  readonly holders: ReadonlyMap<string, string>;
  /** The sys_id of each stored topic. */
  readonly ids: ReadonlyMap<string, string>;
  readonly positions: ReadonlyMap<number, Position>;
  /** The commit that moved the position of a partition last. */
  readonly movedBy: ReadonlyMap<number, number>;
}

export const initial: Version = {
  commit: 0,
  topics: new Map(),
  holders: new Map(),
  ids: new Map(),
  positions: new Map(),
  movedBy: new Map(),
};

export type Counts = Readonly<Record<string, number>>;

/** What one fetch brought. */
export interface FetchedRecords extends IdentifiedLog {
  /** The offset that was requested. */
  readonly from: number;
  /** The offset after everything fetched. */
  readonly end: number;
  readonly records: readonly StoredRecord[];
}

/** The records of a batch. */
export interface Range {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly epoch: number;
}

/** An attempt to explain a batch. */
export interface Explanation {
  readonly model: Model;
  readonly counts: Counts;
  readonly records: readonly StoredRecord[];
}

/** What the records of a range do to a version, by the contract. */
export function explain(version: Version, range: Range, found: FetchedRecords | undefined): Explanation {
  const records = (found?.records ?? []).filter(({ offset }) => offset >= range.from && offset < range.to);
  const model: Model = {
    topics: new Map(version.topics),
    holders: new Map(version.holders),
    ...{ retired: [], rejected: [], replaced: [] },
  };
  const counts: Record<string, number> = {};
  for (const record of records) {
    const offset = (range.epoch - 1) * epochSize + record.offset;
    const outcome = applyOneToModel(model, toAnnouncement(record, offset));
    const kind = typeof outcome === "string" ? outcome : "rejected";
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return { model, counts, records };
}

/** How what a batch did differs from what it should have done. */
export function findDifference(version: Version, { model }: Explanation, actual: Effect): string | undefined {
  const expected = new Map<string, string>();
  for (const id of new Set([...version.topics.keys(), ...model.topics.keys()])) {
    const after = describe(model.topics.get(id));
    if (after !== describe(version.topics.get(id))) expected.set(id, after);
  }
  for (const id of new Set([...expected.keys(), ...actual.topics.keys()])) {
    const stored = actual.topics.get(id)?.text ?? describe(version.topics.get(id));
    const wanted = expected.get(id) ?? describe(version.topics.get(id));
    if (stored !== wanted) return `the topic ${id} became ${stored} instead of ${wanted}`;
  }
  const retired = new Set(model.retired.map(({ topic, offset }) => `${topic.externalId}@${offset}`));
  for (const one of retired) if (!actual.retired.has(one)) return `${one} was not retired`;
  for (const one of actual.retired) if (!retired.has(one)) return `${one} was retired`;
  const replaced = new Set(model.replaced.map(describeReplaced));
  for (const one of replaced) if (!actual.replaced.has(one)) return `${one} is not in the history`;
  for (const one of actual.replaced) if (!replaced.has(one)) return `${one} is in the history`;
  return undefined;
}

/** Returns a version with what a commit did to topics. */
export function applyEffect(last: Version, actual: Effect, fail: (message: string) => never): Version {
  const model: Model = {
    topics: new Map(last.topics),
    holders: new Map(last.holders),
    ...{ retired: [], rejected: [], replaced: [] },
  };
  const ids = new Map(last.ids);
  // Removed first: a combination may pass from one topic to another.
  for (const id of actual.topics.keys()) {
    const before = model.topics.get(id);
    model.topics.delete(id);
    ids.delete(id);
    if (before !== undefined) model.holders.delete(toCombination(before));
  }
  for (const [id, { topic, sysId }] of actual.topics) {
    if (topic === undefined) continue;
    const holder = model.holders.get(toCombination(topic));
    if (holder !== undefined) fail(`${id} and ${holder} have the same combination`);
    putInModel(model, topic);
    if (sysId !== undefined) ids.set(id, sysId);
  }
  return { ...last, topics: model.topics, holders: model.holders, ids };
}

/** Whether two fetches returned the same records. */
export const isSameFetch = (one: FetchedRecords, other: FetchedRecords): boolean =>
  one.log === other.log &&
  one.from === other.from &&
  one.end === other.end &&
  one.records.length === other.records.length &&
  one.records.every((record, index) => record === other.records[index]);
