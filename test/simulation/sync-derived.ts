/**
 * Where reading goes on when the position of a partition was lost: after the last announcement that the store
 * tells of.
 */
import { collections } from "../../src/storage/names.ts";
import { formatValue, type Change, type Document } from "../simulated-servers/index.ts";
import { epochSize, type Position } from "./sync-changes.ts";

interface StoredSource {
  readonly kind: string;
  readonly partition: number;
  readonly offset: number;
  readonly epoch?: number;
}

/** By what was stored before these changes; undefined where no topic is from the partition. */
export function derivePosition(
  readAll: (collection: string) => readonly Document[],
  partition: number,
  changes: readonly Change[],
): Position | undefined {
  /** The places of a collection's records in the log: the offsets of later epochs are larger. */
  function findPlaces(collection: string, field: string): readonly number[] {
    const changed = changes.filter((change) => change.collection === collection);
    const ids = new Set(changed.map(({ before, after }) => formatValue((before ?? after)?.["_id"])));
    const kept = readAll(collection).filter(({ _id }) => !ids.has(formatValue(_id)));
    const before = changed.flatMap(({ before: document }) => (document === undefined ? [] : [document]));
    return [...kept, ...before]
      .map((record) => record[field] as StoredSource)
      .filter((source) => source.kind === "announcement" && source.partition === partition)
      .map(({ offset, epoch = 1 }) => (epoch - 1) * epochSize + offset);
  }

  const places = findPlaces(collections.topics, "source");
  if (places.length === 0) return undefined;
  const last = Math.max(...places, ...findPlaces(collections.retiredTopics, "retired_by"));
  const epoch = Math.floor(last / epochSize) + 1;
  const log = readAll(collections.logs).find((one) => one["epoch"] === epoch);
  return {
    offset: (last % epochSize) + 1,
    epoch,
    topicId: log?.["kafka_topic_id"] as string | undefined,
  };
}
