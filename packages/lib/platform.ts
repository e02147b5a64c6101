import { randomFillSync } from "node:crypto";

/** The source of time and randomness. The simulation replaces it. */
export interface Platform {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
  readonly schedule: (delayMs: number, action: () => void) => Cancel;
  /** Runs an action at the end of this turn of the event loop. */
  readonly scheduleSoon: (action: () => void) => Cancel;
  /** At least 0 and less than 1. */
  readonly random: () => number;
  readonly fillRandom: (bytes: Uint8Array) => void;
}

/** Cancels what was scheduled. */
export type Cancel = () => void;

export const systemPlatform: Platform = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  schedule(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => {
      clearTimeout(timer);
    };
  },
  scheduleSoon(action) {
    const immediate = setImmediate(action);
    return () => {
      clearImmediate(immediate);
    };
  },
  random: Math.random,
  fillRandom: (bytes) => void randomFillSync(bytes),
};

let platform = systemPlatform;

/** Returns the platform that is replaced. */
export function replacePlatform(other: Platform): Platform {
  const former = platform;
  platform = other;
  return former;
}

export const now = (): number => platform.now();
export const currentDate = (): Date => new Date(platform.now());
export const elapsed = (): number => platform.elapsed();
export const schedule: Platform["schedule"] = (delayMs, action) => platform.schedule(delayMs, action);
export const scheduleSoon: Platform["scheduleSoon"] = (action) => platform.scheduleSoon(action);
export const random = (): number => platform.random();
export const fillRandom: Platform["fillRandom"] = (bytes) => {
  platform.fillRandom(bytes);
};

/** Runs an action at intervals until it is cancelled. */
export function repeat(intervalMs: number, action: () => void): Cancel {
  let cancel: Cancel;
  const next = (): void => {
    cancel = schedule(intervalMs, () => {
      next();
      action();
    });
  };
  next();
  return () => {
    cancel();
  };
}

/** Waits; an abort ends the wait. */
export async function sleep(delayMs: number, abort?: AbortSignal): Promise<void> {
  if (abort?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => {
    resolve(undefined);
  };
  const cancel = schedule(delayMs, end);
  abort?.addEventListener("abort", end, { once: true });
  await promise;
  cancel();
  abort?.removeEventListener("abort", end);
}
