import { setTimeout as sleep } from "node:timers/promises";

import { collections } from "../../src/storage/names.ts";
import { service, withContestant } from "../support/contestant.ts";
import { fillTopic } from "../support/announcements.ts";
import { readMemoryMb, readCpuMicros } from "../support/process-usage.ts";
import { reportProgress, type Report } from "../support/report.ts";
import { withWorkspace, type BenchStack, type BenchStore } from "../support/stack.ts";

const pollIntervalMs = 100;

interface Stretch {
  readonly stored: number;
  readonly perSecond: number;
  /** CPU time of the service per announcement. */
  readonly cpuMicros: number;
  /** Resident memory at the end, in MB. */
  readonly memory: number;
}

/** Measures the sync's rate and memory while the collection grows past each size. */
export async function measureTopics(
  stack: BenchStack,
  { topics: sizes, stretch }: { readonly topics: readonly number[]; readonly stretch: number },
): Promise<Report> {
  const source = await fillTopic(stack.broker.address, "bench.topics", Math.max(...sizes) + stretch);
  const found: { readonly store: BenchStore; readonly stretches: readonly Stretch[] }[] = [];
  for (const store of stack.stores) {
    const stretches = await withWorkspace(stack, { store, topic: source.topic }, (workspace, db) =>
      withContestant(service, workspace, async ({ pid }) => {
        const topics = db.collection(collections.topics);
        const waitUntilStored = async (
          size: number,
        ): Promise<{ stored: number; at: number; time: number }> => {
          for (;;) {
            const stored = await topics.estimatedDocumentCount();
            if (stored >= size) return { stored, at: performance.now(), time: readCpuMicros(pid) };
            await sleep(pollIntervalMs);
          }
        };
        const measured: Stretch[] = [];
        for (const size of sizes) {
          const from = await waitUntilStored(size);
          const to = await waitUntilStored(size + stretch);
          const count = to.stored - from.stored;
          measured.push({
            stored: size,
            perSecond: (1_000 * count) / (to.at - from.at),
            cpuMicros: (to.time - from.time) / count,
            memory: readMemoryMb(pid, "VmRSS"),
          });
          reportProgress(`${store.description}: past ${size} topics`);
        }
        return measured;
      }),
    );
    found.push({ store, stretches });
  }
  return {
    title: "topics",
    head: ["store", "topics stored", "announcements/s", "CPU per announcement, µs", "memory, MB"],
    rows: found.flatMap(({ store, stretches }) =>
      stretches.map(({ stored, perSecond, cpuMicros, memory }) => [
        store.description,
        stored,
        Math.round(perSecond),
        cpuMicros.toFixed(0),
        memory,
      ]),
    ),
    notes: [`One instance and one partition; ${stretch} announcements after each size.`],
    data: found.map(({ store: { description }, stretches }) => ({ store: description, stretches })),
  };
}
