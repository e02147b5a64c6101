import { setTimeout as sleep } from "node:timers/promises";

const defaultLimitMs = 150_000;

/** How long to wait before asking again: ever longer, since what is asked for may cost the store more than what is waited for. */
const firstWaitMs = 25;
const maxWaitMs = 200;
const growth = 1.1;

/** Who can tell why something did not happen. */
const contexts: (() => string)[] = [];

/** What a witness says stands in the error of every wait that is in vain. */
export function addWaitContext(witness: () => string): void {
  contexts.push(witness);
}

/**
 * Asks again and again until the answer is not undefined or false, and gives it. Throws after the limit, with the last
 * error if asking threw.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  limitMs = defaultLimitMs,
): Promise<T> {
  const end = Date.now() + limitMs;
  let last: unknown;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, waitMs * growth)) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      const said = contexts.map((witness) => witness()).join("");
      throw new Error(`waited ${limitMs} ms in vain until ${what}${said}`, { cause: last });
    }
    await sleep(waitMs);
  }
}
