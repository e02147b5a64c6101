import type { Platform } from "@topicsync/lib/platform";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

export const startOfTime = Date.UTC(2026, 0, 1);

/**
 * Time and randomness of a simulated world. `ids`: a separate generator for ids, so that they do not change
 * with other random choices.
 */
export const createSimulatedPlatform = (
  clock: Clock,
  { random, ids }: { readonly random: Random; readonly ids: Random },
): Platform => ({
  now: () => startOfTime + Math.floor(clock.getTime() + clock.getHost().skewMs),
  elapsed: clock.getTime,
  schedule: (delayMs, action) => clock.schedule(clock.getHost(), delayMs, action),
  scheduleSoon: (action) => clock.schedule(clock.getHost(), 0, action),
  random: random.next,
  fillRandom(bytes) {
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = ids.between(0, 256);
  },
});
