import { measureRecord, type LogBounds, type LogReader, type OffsetRange } from "@topicsync/kafka";
import { ConfigurationError, KafkaUnavailableError } from "@topicsync/lib/errors";
import { waitAtMost } from "@topicsync/lib/concurrency/timeout";
import { Turns } from "@topicsync/lib/concurrency/turns";
import { decodeEvent } from "../../consumers/events/decode.ts";
import type { Config } from "../config/config.ts";
import type { EventSample } from "../event-types/event-type.ts";
import { EventSampler } from "../event-types/sampler.ts";
import type { ReadSample } from "../event-types/service.ts";

/** Where the last events are read. */
export type SampleSource = Pick<LogReader, "fetchBounds" | "readRanges">;

interface SampleOptions {
  readonly config: Pick<Config, "kafka">;
  /** Throws UnavailableError. */
  readonly broker: () => Promise<SampleSource>;
  /** Stops reading. */
  readonly abort: AbortSignal;
}

/** What a sample may cost. */
const defaultLimits = { events: 5_000, bytes: 16 * 1024 * 1024, readMs: 4_000 };

/** Creates the reader of the last events; undefined if no events topic is configured. */
export function createSampleReader(
  { config: { kafka }, broker, abort }: SampleOptions,
  limits = defaultLimits,
): ReadSample | undefined {
  const { router, maxEventBytes } = kafka;
  if (router === undefined) return undefined;
  const { topic } = router;
  return async () => readSample(await broker(), { ...limits, topic, maxEventBytes, abort });
}

type Reading = typeof defaultLimits & {
  readonly topic: string;
  readonly maxEventBytes: number;
  readonly abort: AbortSignal;
};

async function readSample(kafka: SampleSource, reading: Reading): Promise<EventSample> {
  const { topic, readMs } = reading;
  const sampler = new EventSampler();
  const stop = new AbortController();
  try {
    const abort = AbortSignal.any([reading.abort, stop.signal]);
    const isRead = await waitAtMost(readMs, readRecords(kafka, { ...reading, abort }, sampler));
    if (!isRead && sampler.records === 0)
      throw new KafkaUnavailableError(`no records of ${topic} could be read within ${readMs / 1_000} s`);
  } finally {
    stop.abort();
  }
  return sampler.describe();
}

/** Reads the last records as the router does, in turns of the event loop. */
async function readRecords(
  kafka: SampleSource,
  { topic, maxEventBytes, events, bytes, abort }: Reading,
  sampler: EventSampler,
): Promise<void> {
  const bounds = await kafka.fetchBounds(topic);
  if (bounds === undefined) throw new ConfigurationError(`there is no Kafka topic named "${topic}"`);
  const turns = new Turns();
  let left = bytes;
  for await (const { records } of kafka.readRanges(topic, { ranges: selectLast(bounds, events), abort }))
    for (const record of records) {
      left -= measureRecord(record);
      if (left < 0 || abort.aborted) return;
      const decoded = decodeEvent(record, maxEventBytes);
      if ("event" in decoded) sampler.add(decoded.event, Number(record.timestamp));
      else sampler.reject();
      if (turns.isOver()) await turns.next();
    }
}

/** The last offsets, the same number of each partition; what one lacks is taken from the longer ones. */
function selectLast(bounds: ReadonlyMap<number, LogBounds>, count: number): OffsetRange[] {
  const shortestFirst = [...bounds].toSorted(([, a], [, b]) => a.high - a.low - (b.high - b.low));
  let left = count;
  return shortestFirst.map(([partition, { low, high }], at) => {
    const from = Math.max(low, high - Math.ceil(left / (shortestFirst.length - at)));
    left -= high - from;
    return { partition, from, to: high };
  });
}
