import { getErrorMessage } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** What was acquired, each with its release; released last in, first out, also when start-up fails half way. */
export interface Lifecycle {
  /** Remembers how to release something that was just acquired. */
  onStop(name: string, release: () => Promise<void> | void): void;
  /** Releases everything. A release that fails is logged and the others still run. Calling it again waits for the first. */
  stop(): Promise<void>;
}

/** Makes an empty lifecycle. */
export function createLifecycle(log: Logger): Lifecycle {
  const releases: { name: string; release: () => Promise<void> | void }[] = [];
  let stopping: Promise<void> | undefined;

  async function releaseAll(): Promise<void> {
    for (let next = releases.pop(); next !== undefined; next = releases.pop()) {
      try {
        await next.release();
        log.debug({ released: next.name }, "released");
      } catch (error) {
        log.error({ err: error }, `${next.name} could not be released: ${getErrorMessage(error)}`);
      }
    }
  }

  return {
    onStop: (name, release) => void releases.push({ name, release }),
    stop: () => (stopping ??= releaseAll()),
  };
}
