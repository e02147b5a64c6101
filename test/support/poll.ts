import { setTimeout as sleep } from "node:timers/promises";

/** Only ends a wait for what never happens: whatever happens takes less, also on a busy machine. */
const limitMs = 300_000;

/** The pause before the next attempt. It grows: polling may cost the store more than the awaited work. */
const firstWaitMs = 25;
const maxWaitMs = 200;
const growth = 1.1;

/**
 * Spreads the steps of a load or of faults over time. No test waits for a result by it: see
 * `unit/style.test.ts`.
 */
export const pause = (ms: number): Promise<void> => sleep(ms);

/** Functions that explain why a condition was not met. */
const contexts: (() => string)[] = [];

/** Adds the explanation of a witness to the error of every wait that times out. */
export function addWaitContext(witness: () => string): void {
  contexts.push(witness);
}

/**
 * Polls until the result is neither undefined, null nor false, and returns it. Throws after the limit, with
 * the last error of the condition as the cause.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | null | false> | T | undefined | null | false,
): Promise<T> {
  const end = Date.now() + limitMs;
  let last: unknown;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, waitMs * growth)) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      const explanations = contexts.map((witness) => witness()).join("");
      throw new Error(`timed out after ${limitMs} ms waiting until ${what}${explanations}`, { cause: last });
    }
    await sleep(waitMs);
  }
}
