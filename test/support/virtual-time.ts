import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { replacePlatform, systemPlatform } from "@topicsync/lib/platform";

interface VirtualTime {
  /** Lets time pass: runs what is due, each action after what the former one has led to. */
  pass(ms: number): Promise<void>;
  /** The delays of what was scheduled, in order. */
  readonly delays: readonly number[];
}

/** Replaces the time of the platform, until the test ends, by one that passes only when the test says so. */
export function useVirtualTime(t: TestContext): VirtualTime {
  const startedAt = Date.UTC(2026, 0, 1);
  let time = 0;
  const scheduled = new Set<{ readonly at: number; readonly action: () => void }>();
  const delays: number[] = [];
  const former = replacePlatform({
    ...systemPlatform,
    now: () => startedAt + time,
    elapsed: () => time,
    schedule(delayMs, action) {
      const one = { at: time + delayMs, action };
      scheduled.add(one);
      delays.push(delayMs);
      return () => void scheduled.delete(one);
    },
  });
  t.after(() => void replacePlatform(former));
  return {
    delays,
    async pass(ms) {
      const end = time + ms;
      for (;;) {
        await nextTurn();
        const [next] = [...scheduled]
          .filter(({ at }) => at <= end)
          .toSorted((one, other) => one.at - other.at);
        if (next === undefined) break;
        scheduled.delete(next);
        time = Math.max(time, next.at);
        next.action();
      }
      time = end;
    },
  };
}
