import type { LogObserver, LogReader, Partition, Position, RoutingTransactions } from "@topicsync/kafka";
import type { BackfillRange, BackfillRequest } from "../../src/routing/backfill.ts";
import { selectRanges } from "../../src/plans/impact/selection.ts";

/** What backfills need of Kafka. */
export interface BackfillKafka extends Pick<LogReader, "fetchBounds" | "findFirstSince" | "readRanges"> {
  observe(read: GroupTopic): Pick<LogObserver, "fetchBounds">;
  fetchCommittedOffsets(read: GroupTopic): Promise<ReadonlyMap<number, Position>>;
  createTransactions(routed: {
    readonly partition: Partition;
    readonly groupId: string;
  }): RoutingTransactions;
}

interface GroupTopic {
  readonly topic: string;
  readonly groupId: string;
}

/**
 * Finds the events of a time that the router has read: the others it will forward itself. Throws
 * UnavailableError.
 */
export async function selectBackfillRanges(
  kafka: Pick<BackfillKafka, "fetchBounds" | "findFirstSince" | "fetchCommittedOffsets">,
  { topic, groupId }: GroupTopic,
  { from, to }: Pick<BackfillRequest, "from" | "to">,
): Promise<BackfillRange[]> {
  const committed = await kafka.fetchCommittedOffsets({ topic, groupId });
  const selection = { from: from.getTime(), to: to?.getTime() };
  const { ranges, topicId = null } = await selectRanges(kafka, topic, selection);
  return ranges.flatMap((range) => {
    const routed = committed.get(range.partition);
    // The router has not begun to read the log.
    if (routed === undefined || isOther(routed.topicId, topicId)) return [];
    const end = Math.max(range.from, Math.min(range.to, routed.offset));
    return [{ ...range, to: end, epoch: routed.epoch, topicId, position: range.from, copies: 0 }];
  });
}

/** Whether these are ids of different Kafka topics. */
export const isOther = (one: string | null | undefined, other: string | null | undefined): boolean =>
  typeof one === "string" && typeof other === "string" && one !== other;
