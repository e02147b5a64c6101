import { now, schedule, type Cancel } from "@topicsync/lib/platform";
import { createRandom } from "./random.ts";

const maxDelayMs = 2 ** 31 - 1;

/** As in Node: whole milliseconds, and at least one, or code that repeats at once would stop the clock. */
const toDelay = (delayMs = 1): number => (delayMs >= 1 && delayMs <= maxDelayMs ? Math.trunc(delayMs) : 1);

/** What `setTimeout` and `setInterval` return, as far as it is used. */
class Timer {
  readonly #action: () => void;
  readonly #delayMs: number;
  readonly #isRepeated: boolean;
  #cancel: Cancel = () => undefined;

  constructor(action: () => void, delayMs: number | undefined, isRepeated: boolean) {
    this.#action = action;
    this.#delayMs = toDelay(delayMs);
    this.#isRepeated = isRepeated;
    this.#start();
  }

  cancel(): void {
    this.#cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  #start(): void {
    this.#cancel = schedule(this.#delayMs, () => {
      if (this.#isRepeated) this.#start();
      this.#action();
    });
  }
}

/**
 * Runs something while time and chance of libraries, which look up globals when they call them, follow the
 * simulated clock. The clock itself waits with `setImmediate`. `seed`: libraries have chance of their own, so
 * that a further retry in a library does not change which faults follow.
 */
export async function withSimulatedTimers<T>(seed: number, run: () => Promise<T>): Promise<T> {
  if (process.env["NODE_ENV"] === "test") throw new Error("kafkajs retries differently with NODE_ENV=test");
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const { now: dateNow } = Date;
  const { random } = Math;
  const getRandomValues = crypto.getRandomValues.bind(crypto);
  const libraryRandom = createRandom(seed + 2);

  const clear = (timer: Timer | NodeJS.Timeout | null | undefined): void => {
    // Connections to real servers may have timers from before.
    if (timer instanceof Timer) timer.cancel();
    else clearTimeout(timer ?? undefined);
  };
  Object.assign(globalThis, {
    setTimeout: (action: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) =>
      new Timer(
        () => {
          action(...args);
        },
        delayMs,
        false,
      ),
    setInterval: (action: () => void, delayMs?: number) => new Timer(action, delayMs, true),
    clearTimeout: clear,
    clearInterval: clear,
  });
  Date.now = now;
  Math.random = libraryRandom.next;
  Object.assign(crypto, {
    getRandomValues(bytes: Uint8Array) {
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = libraryRandom.between(0, 256);
      return bytes;
    },
  });
  try {
    return await run();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Date.now = dateNow;
    Math.random = random;
    Object.assign(crypto, { getRandomValues });
  }
}
