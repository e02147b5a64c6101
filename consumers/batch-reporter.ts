import { InvariantError } from "../src/lib/invariant.ts";
import type { Logger } from "../src/lib/logger.ts";
import { scheduleSoon } from "../src/lib/platform.ts";
import type { BatchHandler, PreparedBatch } from "./batch.ts";

/** Reports stored batches, in their order. */
export interface Reporter<Prepared extends PreparedBatch, Outcome> {
  /** Never throws. See BatchHandler. */
  report(prepared: Prepared, outcome: Outcome | undefined, tookMs: number): void;
  /** Resolves when every stored batch is reported. */
  whenReported(): Promise<void>;
}

/**
 * Creates a reporter that lets the next write start first: reporting takes up to a tenth as long as a write,
 * and the store need not wait for it.
 */
export function createReporter<Prepared extends PreparedBatch, Outcome>(
  handler: Pick<BatchHandler<Prepared, Outcome>, "report">,
  log: Logger,
  onBroken: (error: InvariantError) => void,
): Reporter<Prepared, Outcome> {
  let reporting: Promise<void> = Promise.resolve();
  return {
    report(prepared, outcome, tookMs) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      reporting = promise;
      scheduleSoon(() => {
        try {
          handler.report(prepared, outcome, tookMs);
        } catch (error) {
          log.error({ err: error }, "batch stored, but not reported");
          if (error instanceof InvariantError) onBroken(error);
        }
        resolve(undefined);
      });
    },
    whenReported: () => reporting,
  };
}
