import { elapsed } from "@topicsync/lib/platform";
import {
  choosePartition,
  getHeaderText,
  type LogReader,
  type LogRecord,
  type OffsetRange,
} from "@topicsync/kafka";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import { chooseTarget } from "../../src/routing/plan.ts";

interface FoundCopy {
  /** Undefined for an event that no topic matched. */
  readonly externalId: string | undefined;
  readonly kafkaTopic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface FoundCopies {
  readonly copies: readonly FoundCopy[];
  /** Whether every place was read where a copy could be. */
  readonly complete: boolean;
}

const maxTopics = 20;
const recordsPerTopic = 5_000;
const maxMs = 3_000;

/** An event as its copies have it. */
interface CopiedEvent {
  readonly id: string;
  /** Of the events topic. */
  readonly partition: number;
  readonly record: Pick<LogRecord, "key" | "timestamp">;
}

/**
 * Finds the copies of an event. They have its timestamp, and are in the partition that follows from its key.
 */
export async function findCopies(
  kafka: Pick<LogReader, "fetchBounds" | "findFirstSince" | "readRanges">,
  event: CopiedEvent,
  { kafkaTopics, abort }: { readonly kafkaTopics: readonly string[]; readonly abort: AbortSignal },
): Promise<FoundCopies> {
  const end = elapsed() + maxMs;
  const copies: FoundCopy[] = [];
  let complete = kafkaTopics.length <= maxTopics;
  for (const kafkaTopic of kafkaTopics.slice(0, maxTopics)) {
    const range = await findRange(kafka, event, kafkaTopic);
    if (range === undefined) continue;
    const last = { ...range, to: Math.min(range.to, range.from + recordsPerTopic) };
    if (last.to < range.to) complete = false;
    for await (const { records } of kafka.readRanges(kafkaTopic, { ranges: [last], abort })) {
      for (const { headers, offset } of records)
        if (getHeaderText(headers, routedEventHeader.event) === event.id)
          copies.push({
            externalId: getHeaderText(headers, routedEventHeader.topic),
            ...{ kafkaTopic, partition: last.partition, offset },
          });
      if (elapsed() > end) return { copies, complete: false };
    }
  }
  return { copies, complete };
}

/** Where the copies of an event can be; undefined without the Kafka topic. */
async function findRange(
  kafka: Pick<LogReader, "fetchBounds" | "findFirstSince">,
  { partition, record }: CopiedEvent,
  kafkaTopic: string,
): Promise<OffsetRange | undefined> {
  const bounds = await kafka.fetchBounds(kafkaTopic);
  if (bounds === undefined) return undefined;
  const since = await kafka.findFirstSince(kafkaTopic, Math.max(0, Number(record.timestamp)));
  const target = chooseTarget(record.key, bounds.size, { partition: { partition }, choosePartition });
  const { low, high } = bounds.get(target) ?? { low: 0, high: 0 };
  return { partition: target, from: Math.min(high, Math.max(low, since.get(target) ?? high)), to: high };
}
