import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import type { Broker } from "@topicsync/kafka/client";
import { UnavailableError } from "@topicsync/lib/errors";
import { getHeaderText } from "@topicsync/kafka";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { Rate } from "../support/contestant.ts";
import { readCpuMicros } from "../support/process-usage.ts";
import type { Job } from "./contestants.ts";
import { getExternalId, parseEventNumber, type EventLog } from "./events.ts";

const pollIntervalMs = 20;
/** Events that are forwarded before the measurement, while code is compiled. */
const warmUpShare = 1 / 4;

/** Events whose transactions are committed; 0 while the broker does not know the group yet. */
async function countForwarded(broker: Broker, { groupId, events }: Job): Promise<number> {
  try {
    const offsets = await broker.fetchCommittedOffsets({ groupId, topic: events });
    return sum([...offsets.values()].map(({ offset }) => offset));
  } catch (error) {
    if (error instanceof UnavailableError) return 0;
    throw error;
  }
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** Waits until all events are forwarded. NaN if the first look finds all of them. */
export async function measureRate(
  broker: Broker,
  job: Job,
  {
    pids,
    events,
    onProgress,
  }: { pids: readonly number[]; events: number; onProgress: (done: number) => void },
): Promise<Rate> {
  let from: { done: number; at: number; cpu: number } | undefined;
  for (;;) {
    const done = await countForwarded(broker, job);
    const [at, cpu] = [performance.now(), sum(pids.map(readCpuMicros))];
    onProgress(done);
    if (done > 0 && done >= warmUpShare * events) from ??= { done, at, cpu };
    if (done >= events && from !== undefined) {
      const count = done - from.done;
      return { perSecond: (1_000 * count) / (at - from.at), cpuMicros: (cpu - from.cpu) / count };
    }
    await sleep(pollIntervalMs);
  }
}

/**
 * Throws unless every event can be read exactly once, with the header of its topic if the contestant sets it.
 */
export async function checkForwarded(
  broker: Broker,
  { egress }: Job,
  { log, hasHeaders }: { log: EventLog; hasHeaders: boolean },
): Promise<void> {
  const copies = new Uint8Array(log.events);
  const { signal } = new AbortController();
  for await (const { record } of broker.read(egress, { abort: signal })) {
    const event = parseEventNumber(record.key);
    if (copies[event] === undefined)
      throw new Error(`${egress} has a record that is not an event of the log`);
    copies[event] += 1;
    if (!hasHeaders) continue;
    const found = getHeaderText(record.headers, routedEventHeader.topic);
    const expected = getExternalId(event, log.topics);
    if (found !== expected)
      throw new Error(`event ${event} is for ${expected}, but was sent to ${found ?? "none"}`);
  }
  const missing = copies.filter((count) => count === 0).length;
  const repeated = copies.filter((count) => count > 1).length;
  if (missing + repeated > 0)
    throw new Error(
      `${egress} lacks ${missing} events and has ${repeated} more than once: the run is invalid`,
    );
}

/** When the service had loaded all topics, by its log: milliseconds since 1970. */
export async function readLoadedTime(logFile: string): Promise<number> {
  const lines = (await readFile(logFile, "utf8")).split("\n");
  const loaded = lines.find((line) => line.includes('"topics loaded"'));
  if (loaded === undefined) return NaN;
  return new Date((JSON.parse(loaded) as { time: string | number }).time).getTime();
}
