/**
 * Fault of kafkajs 2.2.4, consumer/runner.js:420: it moves over batches from which nothing is delivered
 * (markers, aborted records, and what compaction left) without calling the handler, so a reader could not
 * tell whether its position may follow.
 * The test in test/workarounds/fetches.test.ts fails when kafkajs no longer needs this.
 */

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

/** Makes kafkajs call `eachBatch` also for batches from which nothing is delivered, in the whole process. */
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
