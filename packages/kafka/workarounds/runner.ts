/**
 * Faults of the part of kafkajs 2.2.4 that runs a consumer. Each is corrected in the whole process, and a
 * test in test/workarounds fails when kafkajs no longer needs it.
 */

import kafkajs from "kafkajs";

import { patchMethod } from "./patch.ts";

interface ConsumerGroup {
  getActiveTopicPartitions(): Record<string, Set<number>>;
}

interface Batch {
  readonly topic: string;
  readonly partition: number;
  isEmptyDueToFiltering(): boolean;
}

interface Runner {
  readonly running: boolean;
  readonly consumerGroup: ConsumerGroup;
  fetch(nodeId: string): Promise<readonly object[]>;
  handleBatch(batch: Batch): Promise<void>;
  processEachBatch(batch: Batch): Promise<void>;
  heartbeat(): Promise<void>;
}

const path = "consumer/runner.js";

/**
 * Leaves out of fetches a partition whose batch is being processed. consumer/consumerGroup.js:457 waits for a
 * batch before it asks the same broker again, but not before it asks another broker that has become the
 * leader. It fetches the same records from there and drops them, again and again without a pause.
 */
export function spareBusyPartitions(): void {
  const busy = new WeakMap<ConsumerGroup, Set<Batch>>();
  patchMethod<Runner, "processEachBatch">(path, "processEachBatch", async (runner, process, batch) => {
    const batches = busy.get(runner.consumerGroup) ?? new Set();
    busy.set(runner.consumerGroup, batches.add(batch));
    try {
      await process(batch);
    } finally {
      batches.delete(batch);
    }
  });
  patchMethod<ConsumerGroup, "getActiveTopicPartitions">(
    "consumer/consumerGroup.js",
    "getActiveTopicPartitions",
    (group, getActive) => {
      const active = getActive();
      for (const { topic, partition } of busy.get(group) ?? []) active[topic]?.delete(partition);
      return active;
    },
  );
}

/**
 * Calls `eachBatch` also for batches from which nothing is delivered (markers, aborted records, and what
 * compaction left). consumer/runner.js:420 moves over them without calling it, so a reader could not tell
 * whether its position may follow.
 */
export function deliverEmptyBatches(): void {
  patchMethod<Runner, "handleBatch">(path, "handleBatch", async (runner, handle, batch) => {
    if (!runner.running || !batch.isEmptyDueToFiltering()) return handle(batch);
    await runner.processEachBatch(batch);
    await runner.heartbeat();
  });
}

/**
 * Ends fetchers that ask for records after their consumer was stopped. When brokers come or go while it is
 * stopped, consumer/fetchManager.js:76 creates fetchers that nothing stops. Each asks the runner, which
 * answers at once with nothing (consumer/runner.js:348), again and again: the process does nothing else any
 * more.
 */
export function endStoppedFetchers(): void {
  patchMethod<Runner, "fetch">(path, "fetch", (runner, fetch, nodeId) => {
    if (runner.running) return fetch(nodeId);
    // Before it tries again, the runner notices that it has stopped.
    return Promise.reject(new kafkajs.KafkaJSError("the consumer has stopped", { retriable: true }));
  });
}
