import type { Logger } from "@topicsync/lib/logger";
import { currentDate, elapsed, schedule, sleep, type Cancel } from "@topicsync/lib/platform";
import { waitAtMost } from "@topicsync/lib/concurrency/timeout";
import type { MatchCount } from "@topicsync/filters";
import type { LiveTopicIndex } from "../topics/live/live-topic-index.ts";
import type { TopicUsageStore } from "../topics/usage.ts";

interface RecorderOptions {
  /** Holds the counts. */
  readonly index: Pick<LiveTopicIndex, "count" | "takeCounts">;
  readonly usage: Pick<TopicUsageStore, "add" | "noteCounting">;
  readonly log: Logger;
}

/** Doubled with each store: who has just sent events soon sees them. */
const firstIntervalMs = 10_000;
const maxIntervalMs = 10 * 60_000;
const topicsPerWrite = 200;
/** Limits what a store has to do to 1,000 topics per second, except at the end. */
const writeIntervalMs = 200;
const stopTimeoutMs = 5_000;

/** Starts to store how many events topics have had. What cannot be stored is stored the next time. */
export function startUsageRecorder({ index, usage, log }: RecorderOptions) {
  const since = currentDate();
  const stopping = new AbortController();
  let storing: Promise<void> | undefined;

  async function add(counts: readonly MatchCount[]): Promise<void> {
    const startedAt = elapsed();
    try {
      await usage.add(counts, currentDate());
    } catch (error) {
      for (const { externalId, matches } of counts) index.count(externalId, matches);
      throw error;
    }
    await sleep(writeIntervalMs - (elapsed() - startedAt), stopping.signal);
  }

  async function store(): Promise<void> {
    try {
      await usage.noteCounting({ since, until: currentDate() });
      for (const counts of splitCounts(index.takeCounts())) await add(counts);
    } catch (error) {
      log.warn({ err: error }, "topic usage not stored");
    }
  }

  let cancel: Cancel;
  function scheduleNext(intervalMs: number): void {
    cancel = schedule(intervalMs, () => {
      scheduleNext(Math.min(2 * intervalMs, maxIntervalMs));
      storing ??= store().finally(() => {
        storing = undefined;
      });
    });
  }
  scheduleNext(firstIntervalMs);

  return {
    /** Stores what was counted since the last time. */
    async stop(): Promise<void> {
      cancel();
      stopping.abort();
      await waitAtMost(stopTimeoutMs, (storing ?? Promise.resolve()).then(store));
    },
  };
}

function* splitCounts(counts: Iterable<MatchCount>): Generator<MatchCount[]> {
  let chunk: MatchCount[] = [];
  for (const one of counts) {
    chunk.push(one);
    if (chunk.length < topicsPerWrite) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
