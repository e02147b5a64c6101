import { schedule, type Cancel } from "../../src/lib/platform.ts";

/** What `setTimeout` returns, as far as it is used. */
interface Timer {
  readonly cancel: Cancel;
  readonly unref: () => Timer;
}

/**
 * Runs something while the timers of libraries, which do not take time from the platform, follow the simulated clock. The
 * clock itself waits with `setImmediate`.
 */
export async function withSimulatedTimers<T>(run: () => Promise<T>): Promise<T> {
  const { setTimeout, clearTimeout } = globalThis;
  const fakes = {
    setTimeout(action: () => void, delayMs = 0): Timer {
      const timer: Timer = { cancel: schedule(delayMs, action), unref: () => timer };
      return timer;
    },
    clearTimeout(timer: Timer | NodeJS.Timeout | null | undefined): void {
      // Connections to real servers may have timers from before.
      if (timer !== null && timer !== undefined && "cancel" in timer) timer.cancel();
      else clearTimeout(timer ?? undefined);
    },
  };
  Object.assign(globalThis, fakes);
  try {
    return await run();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
}
