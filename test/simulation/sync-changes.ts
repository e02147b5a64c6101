/** The store's records of topics and positions in the terms of the model. */
import { collections } from "../../src/storage/names.ts";
import type { ModelAnnouncement, ModelTopic, ModelVersion } from "../unit/topics/model.ts";
import type { Change, Document, StoredRecord } from "../simulated-servers/index.ts";

export interface Position {
  readonly offset: number;
  readonly epoch: number;
  /** The topic whose log it is in. */
  readonly topicId?: string | undefined;
}

/** Of a partition without a position. */
export const beginning: Position = { offset: 0, epoch: 1 };
/** Offsets of a later epoch are later. */
export const epochSize = 1_000_000;

export interface ChangedTopic {
  /** Undefined: it is gone. */
  readonly topic: ModelTopic | undefined;
  readonly sysId: string | undefined;
  readonly text: string;
}

export interface Effect {
  readonly topics: ReadonlyMap<string, ChangedTopic>;
  /** `externalId@offset` of the tombstones. */
  readonly retired: ReadonlySet<string>;
  /** The versions that the channel has replaced; see `describeReplaced`. */
  readonly replaced: ReadonlySet<string>;
}

interface StoredSource {
  readonly kind: "http" | "announcement";
  readonly offset: number;
  readonly epoch?: number;
}

export const format = ({ offset, epoch }: Position): string => `${offset} of epoch ${epoch}`;

export const describe = (topic: ModelTopic | undefined): string =>
  topic === undefined ? "absent" : `${topic.owner} ${topic.offset} ${toCombination(topic)}`;

export const toCombination = ({ name, namespace, headerQuery, contentQuery }: ModelTopic): string =>
  JSON.stringify([name, namespace, headerQuery, contentQuery]);

const toOffset = ({ offset, epoch = 1 }: StoredSource): number => (epoch - 1) * epochSize + offset;

export function fromRecord(record: Document): ModelTopic {
  const source = record["source"] as StoredSource;
  return {
    externalId: record["topic_id"] as string,
    name: record["topic_name"] as string,
    namespace: record["namespace"] as string,
    headerQuery: record["header_query"] as string,
    contentQuery: record["content_query"] as string,
    owner: source.kind === "http" ? "http" : "channel",
    offset: source.kind === "http" ? -1 : toOffset(source),
  };
}

/** What was written to the record of a position. */
export interface PositionChange {
  readonly partition: number;
  readonly before: Position | undefined;
  readonly after: Position | undefined;
}

export interface Move extends PositionChange {
  readonly after: Position;
}

export function findPositionChange(changes: readonly Change[]): PositionChange | undefined {
  const change = changes.find(({ collection }) => collection === collections.positions);
  const record = change?.after ?? change?.before;
  if (change === undefined || record === undefined) return undefined;
  const { partition } = record["_id"] as { readonly partition: number };
  return { partition, before: toPosition(change.before), after: toPosition(change.after) };
}

/** A change of the position itself, not only of its owner. */
export function findMove(changes: readonly Change[]): Move | undefined {
  const { partition, before, after } = findPositionChange(changes) ?? {};
  if (partition === undefined || after === undefined) return undefined;
  const isSame = before?.offset === after.offset && before.epoch === after.epoch;
  return isSame ? undefined : { partition, before, after };
}

export const isAt = ({ offset, epoch }: Position = beginning, other: Position): boolean =>
  offset === other.offset && epoch === other.epoch;

export function toPosition(record: Document | undefined): Position | undefined {
  const offset = record?.["next_offset"] as number | null | undefined;
  return offset === undefined || offset === null
    ? undefined
    : {
        offset,
        epoch: (record?.["epoch"] as number | null | undefined) ?? 1,
        topicId: record?.["kafka_topic_id"] as string | undefined,
      };
}

const announcements = new Map<string, Record<string, string>>();

/** Reads a record that the simulation made. */
export function toAnnouncement(record: StoredRecord, offset: number): ModelAnnouncement {
  const key = record.key?.toString() ?? null;
  const value = record.value?.toString() ?? null;
  if (value === null)
    return key === null
      ? { kind: "unusable", offset, rejection: { code: "MISSING_KEY" } }
      : { kind: "retire", offset, externalId: key };
  if (!value.startsWith("{")) return { kind: "unusable", offset, rejection: { code: "MALFORMED_JSON" } };
  const parsed = announcements.get(value) ?? (JSON.parse(value) as Record<string, string>);
  announcements.set(value, parsed);
  const { externalId = "", name = "", namespace = "", headerQuery = "", contentQuery = "" } = parsed;
  return { kind: "define", offset, definition: { externalId, name, namespace, headerQuery, contentQuery } };
}

export const describeReplaced = ({ topic, offset, action }: ModelVersion): string =>
  `${topic.externalId} ${describe(topic)} ${action} by ${offset}`;

/** Whether a retirement is marked as ended: its topic is enabled again. */
export const isEnd = (before: Document | undefined, after: Document): boolean =>
  after["enabled_on"] !== undefined && before !== undefined && before["enabled_on"] === undefined;

/** What a commit did to topics. */
export function toEffect(changes: readonly Change[]): Effect {
  const topics = new Map<string, ChangedTopic>();
  const retired = new Set<string>();
  const replaced = new Set<string>();
  for (const { collection, before, after } of changes) {
    if (collection === collections.topicVersions && after !== undefined) {
      const by = after["ended_by"] as StoredSource;
      if (by.kind === "announcement")
        replaced.add(
          describeReplaced({
            topic: fromRecord(after),
            offset: toOffset(by),
            action: after["action"] as ModelVersion["action"],
          }),
        );
    }
    if (collection === collections.topics) {
      if (before !== undefined && !topics.has(before["topic_id"] as string))
        topics.set(before["topic_id"] as string, {
          topic: undefined,
          sysId: undefined,
          text: describe(undefined),
        });
      if (after !== undefined) {
        const topic = fromRecord(after);
        topics.set(topic.externalId, { topic, sysId: after["_id"] as string, text: describe(topic) });
      }
    } else if (collection === collections.retiredTopics && after !== undefined && !isEnd(before, after)) {
      const by = after["retired_by"] as StoredSource;
      if (by.kind === "announcement") retired.add(`${String(after["topic_id"])}@${toOffset(by)}`);
    }
  }
  return { topics, retired, replaced };
}

/**
 * A topic that was retired, although it was not there under its sys_id. The channel may create and retire one
 * at once.
 */
export function findFalseRetirement(
  changes: readonly Change[],
  wasStored: (sysId: string) => boolean,
): string | undefined {
  const removed = new Set(
    changes
      .filter(({ collection }) => collection === collections.topics)
      .map(({ before }) => before?.["_id"] as string | undefined),
  );
  const retired = changes
    .filter(({ collection }) => collection === collections.retiredTopics)
    .flatMap(({ before, after }) => (after === undefined || isEnd(before, after) ? [] : [after]))
    .find(({ sys_id: sysId, retired_by: by }) => {
      const isRemoval = (by as StoredSource).kind === "http" || wasStored(sysId as string);
      return isRemoval && !removed.has(sysId as string);
    });
  return retired?.["topic_id"] as string | undefined;
}

/** For traces. */
export const formatChanges = (changes: readonly Change[]): string =>
  changes
    .map(({ collection, after, before }) =>
      collection === collections.positions
        ? `position ${JSON.stringify({ ...after, sessions: undefined })}`
        : `${String((after ?? before)?.["topic_id"])} ${after === undefined ? "gone" : JSON.stringify([after["topic_name"], after["source"]])}`,
    )
    .join("; ");
