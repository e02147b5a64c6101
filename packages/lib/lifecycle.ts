import type { Logger } from "./logger.ts";

/** Acquired resources and their releases, run last in, first out, also when the start fails half way. */
export interface Lifecycle {
  /** Registers the release of a resource that was just acquired. */
  onStop(name: string, release: () => Promise<void> | void): void;
  /**
   * Releases everything. A failed release is logged and the others still run. A second call waits for the
   * first.
   */
  stop(): Promise<void>;
}

export function createLifecycle(log: Logger): Lifecycle {
  const releases: { name: string; release: () => Promise<void> | void }[] = [];
  let stopping: Promise<void> | undefined;

  async function releaseAll(): Promise<void> {
    for (let next = releases.pop(); next !== undefined; next = releases.pop()) {
      try {
        await next.release();
        log.debug({ resource: next.name }, "released");
      } catch (error) {
        log.error({ resource: next.name, err: error }, "release failed");
      }
    }
  }

  return {
    onStop: (name, release) => void releases.push({ name, release }),
    stop: () => (stopping ??= releaseAll()),
  };
}
