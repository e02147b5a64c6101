import { setTimeout as sleep } from "node:timers/promises";

import { collections } from "../../src/storage/names.ts";
import { withContestant } from "../support/contestant.ts";
import { service } from "../support/contestants.ts";
import { fillLog } from "../support/announcements.ts";
import { readMemory, readProcessorTime } from "../support/process-usage.ts";
import { progress, type Report } from "../support/report.ts";
import { inArena, type BenchStack, type BenchStore } from "../support/stack.ts";

const lookEveryMs = 100;

/** How the sync was while the collection grew past a size. */
interface Stretch {
  readonly stored: number;
  readonly perSecond: number;
  /** Of the service, for each announcement; microseconds. */
  readonly processorTime: number;
  /** Resident, at the end; MB. */
  readonly memory: number;
}

/**
 * The sync's rate and memory while the collection grows past each of the sizes, on each store of the stack.
 */
export async function measureTopics(
  stack: BenchStack,
  { topics: sizes, stretch }: { readonly topics: readonly number[]; readonly stretch: number },
): Promise<Report> {
  const log = await fillLog(stack.broker.address, "bench.topics", Math.max(...sizes) + stretch);
  const found: { readonly store: BenchStore; readonly stretches: readonly Stretch[] }[] = [];
  for (const store of stack.stores) {
    const stretches = await inArena(stack, { store, topic: log.topic }, (arena, db) =>
      withContestant(service, arena, async ({ pid }) => {
        const topics = db.collection(collections.topics);
        const grown = async (size: number): Promise<{ stored: number; at: number; time: number }> => {
          for (;;) {
            const stored = await topics.estimatedDocumentCount();
            if (stored >= size) return { stored, at: performance.now(), time: readProcessorTime(pid) };
            await sleep(lookEveryMs);
          }
        };
        const measured: Stretch[] = [];
        for (const size of sizes) {
          const from = await grown(size);
          const to = await grown(size + stretch);
          const count = to.stored - from.stored;
          measured.push({
            stored: size,
            perSecond: (1_000 * count) / (to.at - from.at),
            processorTime: (to.time - from.time) / count,
            memory: readMemory(pid, "VmRSS"),
          });
          progress(`${store.description}: past ${size} topics`);
        }
        return measured;
      }),
    );
    found.push({ store, stretches });
  }
  return {
    title: "topics",
    head: ["store", "topics stored", "announcements a second", "CPU each, µs", "memory, MB"],
    rows: found.flatMap(({ store, stretches }) =>
      stretches.map(({ stored, perSecond, processorTime, memory }) => [
        store.description,
        stored,
        Math.round(perSecond),
        processorTime.toFixed(0),
        memory,
      ]),
    ),
    notes: [`One instance and one partition; the next ${stretch} announcements past each size.`],
    data: found.map(({ store: { description }, stretches }) => ({ store: description, stretches })),
  };
}
