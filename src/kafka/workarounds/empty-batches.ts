import { patchMethod } from "./patch.ts";

interface Batch {
  isEmptyDueToFiltering(): boolean;
}

interface Runner {
  readonly running: boolean;
  handleBatch(batch: Batch): Promise<void>;
  processEachBatch(batch: Batch): Promise<void>;
  heartbeat(): Promise<void>;
}

/**
 * Makes kafkajs 2.2.4 call `eachBatch` also for batches from which nothing is delivered: markers, aborted records, and what
 * compaction left. It moves over them without asking, so a reader could not tell whether its position may follow.
 */
export function deliverEmptyBatches(): void {
  patchMethod<"handleBatch", Runner>(
    "consumer/runner.js",
    "handleBatch",
    (handle) =>
      async function (this: Runner, batch) {
        if (!this.running || !batch.isEmptyDueToFiltering()) return handle.call(this, batch);
        await this.processEachBatch(batch);
        await this.heartbeat();
      },
  );
}
