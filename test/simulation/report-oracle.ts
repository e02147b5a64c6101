/**
 * What must hold for reports: a process reports each batch that it stored at most once, in order, and no
 * other.
 */
import type { Host } from "../simulated-servers/index.ts";
import type { Counts } from "./sync-explanation.ts";

/** A stored batch that its process has not reported yet. */
interface UnreportedBatch {
  readonly commit: number;
  /** Several versions may explain the same changes, with other outcomes of single records. */
  readonly counts: readonly Counts[];
}

export function createReportOracle(fail: (message: string) => never) {
  /** By process and partition, in order. */
  const unreported = new Map<string, readonly UnreportedBatch[]>();
  const toKey = (host: Host, partition: number): string => `${host.name}/${partition}`;

  return {
    onStored(host: Host, partition: number, batch: UnreportedBatch): void {
      const key = toKey(host, partition);
      unreported.set(key, [...(unreported.get(key) ?? []), batch]);
    },

    onRollback(lastKept: number): void {
      for (const [key, batches] of unreported)
        unreported.set(
          key,
          batches.filter(({ commit }) => commit <= lastKept),
        );
    },

    onReported(host: Host, partition: number, counts: Counts): void {
      const key = toKey(host, partition);
      const batches = unreported.get(key) ?? [];
      const index = batches.findIndex((batch) => batch.counts.some((one) => isSameCount(one, counts)));
      if (index === -1)
        fail(
          `${host.name} reported a batch of partition ${partition} that it did not store: ${JSON.stringify(counts)}`,
        );
      unreported.set(key, batches.slice(index + 1));
    },
  };
}

const isSameCount = (a: Counts, b: Counts): boolean =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => (a[name] ?? 0) === (b[name] ?? 0));
