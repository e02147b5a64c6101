import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { toTime } from "@topicsync/lib/time";
import type { OffsetRange } from "@topicsync/kafka";
import type { ImpactRead, ImpactResult } from "../../../schemas/impact.ts";
import { toPerDay, type ImpactCounts } from "./counts.ts";
import type { ReadCounts } from "./events.ts";
import type { ImpactJob } from "./preview.ts";

/** What was read of a Kafka topic, or of a file: then there are no ranges. */
export interface ReadResult {
  readonly complete: boolean;
  readonly kafkaTopic: string | undefined;
  readonly topicId: string | undefined;
  readonly ranges: readonly OffsetRange[];
  readonly counts: ReadCounts;
  /** How many offsets of the ranges have no record. */
  readonly withoutRecord: number;
}

export function toImpactRead({ kafkaTopic, topicId, ranges, counts, withoutRecord }: ReadResult): ImpactRead {
  const { records, events, rejected, rejectedExamples, first, last } = counts;
  const format = (time: number | undefined): string | null =>
    time === undefined ? null : (toTime(time)?.toISOString() ?? null);
  return {
    kafkaTopic: kafkaTopic ?? null,
    topicId: topicId ?? null,
    partitions: ranges.map(({ partition, from, to }) => ({ partition, from, to })),
    firstTime: format(first),
    lastTime: format(last),
    records,
    events,
    rejected,
    rejectedExamples: rejectedExamples.map(({ partition, offset, code }) => ({ partition, offset, code })),
    withoutRecord,
  };
}

/** Converts to the JSON of HTTP and the command line. The same for the same records, whenever it is made. */
export function toImpactResult(counts: ImpactCounts, read: ReadResult): ImpactResult {
  const topics = counts.listTopics(read.counts);
  const total = { before: 0, after: 0, newly: 0, noLonger: 0, still: 0 };
  for (const topic of topics)
    for (const name of ["before", "after", "newly", "noLonger", "still"] as const) total[name] += topic[name];
  const perDay = toPerDay(read.counts, counts.growth);
  return { complete: read.complete, read: toImpactRead(read), topics, total: { ...total, perDay } };
}

const maxAuditedTopics = 100;

/** The audit event of a preview: its counts tell what events contain, also without examples. */
export const toReadEvent = ({ changes }: Pick<ImpactJob, "changes">): AuditEvent => ({
  action: "events.read",
  topics: changes.slice(0, maxAuditedTopics).map(({ externalId }) => externalId),
});
