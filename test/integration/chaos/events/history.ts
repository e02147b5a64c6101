import type { Input } from "../environment.ts";

/** When a group had read how much of a topic. */
export interface History {
  /** Reads the positions. */
  refresh(): Promise<void>;
  /** A time at which the record was certainly read, in milliseconds since 1970; Infinity if it never was. */
  findReadTime(partition: number, offset: number): number;
}

export function createHistory(input: Input): History {
  const { positions } = input;
  /** By partition, in order of their offsets and times. */
  const seen: { readonly at: number; readonly offset: number }[][] = [];

  return {
    async refresh() {
      await positions.refresh();
      while (seen.length < input.partitions) seen.push([]);
      for (const [partition, entries] of seen.entries()) {
        const offset = positions.get(partition);
        if (offset > (entries.at(-1)?.offset ?? 0)) entries.push({ at: Date.now(), offset });
      }
    },
    findReadTime(partition, offset) {
      const entries = seen[partition] ?? [];
      let [low, high] = [0, entries.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((entries[middle]?.offset ?? 0) > offset) high = middle;
        else low = middle + 1;
      }
      return entries[low]?.at ?? Infinity;
    },
  };
}
