import type { RejectionCode } from "@topicsync/lib/errors";
import type { RoutedEvent } from "./plan.ts";

/** A batch of events that was forwarded. */
export interface RoutedBatch {
  /** Excludes records that are not events. */
  readonly events: readonly RoutedEvent[];
  /** Copies. */
  readonly forwarded: number;
  /** Matches with topics that no Kafka topic can be named after. */
  readonly unroutable: number;
  /** How often a time in a filter was compared with values that are no times. */
  readonly missedTimes: number;
  /** The code of each dead letter. */
  readonly rejected: readonly RejectionCode[];
  /** When each event was produced, in milliseconds since 1970. */
  readonly producedOn: readonly number[];
  /** When they were forwarded. */
  readonly routedOn: number;
  readonly tookMs: number;
}

/** Counts events. */
export type RouterTally = ReturnType<typeof createRouterTally>;

const maxListed = 10;
/** When more topics than these have events, those with the fewest are counted from zero again. */
const maxCounted = 20_000;

export function createRouterTally() {
  const total = { matched: 0, unmatched: 0, forwarded: 0 };
  const rejected: Partial<Record<RejectionCode, number>> = {};
  let byTopic = new Map<string, number>();

  /**
   * Keeps the quarter with the most events. Sorting the counts alone takes a fraction of the time that
   * sorting the topics takes.
   */
  function forgetRare(): void {
    const counts = Uint32Array.from(byTopic.values()).toSorted();
    const kept = Math.ceil(counts.length / 4);
    const least = counts.at(-kept) ?? 0;
    let room = kept - counts.filter((count) => count > least).length;
    const busiest = new Map<string, number>();
    for (const [externalId, count] of byTopic) {
      if (count < least) continue;
      if (count === least) room -= 1;
      if (count > least || room >= 0) busiest.set(externalId, count);
    }
    byTopic = busiest;
  }

  return {
    add(batch: RoutedBatch): void {
      total.forwarded += batch.forwarded;
      for (const { topics, isUnmatched } of batch.events) {
        if (isUnmatched) total.unmatched += 1;
        else total.matched += 1;
        for (const externalId of topics) byTopic.set(externalId, (byTopic.get(externalId) ?? 0) + 1);
      }
      for (const code of batch.rejected) rejected[code] = (rejected[code] ?? 0) + 1;
      if (byTopic.size > maxCounted) forgetRare();
    },
    /**
     * What this process has forwarded since it started: copies, and events that at least one topic wanted, or
     * none. Dead letters by their code; codes that did not occur are absent.
     */
    getCounts: () => ({ ...total, rejected: { ...rejected } }),
    /** The topics with the most events, busiest first. */
    listBusiest: () =>
      [...byTopic]
        .toSorted(([, a], [, b]) => b - a)
        .slice(0, maxListed)
        .map(([externalId, events]) => ({ externalId, events })),
  };
}
