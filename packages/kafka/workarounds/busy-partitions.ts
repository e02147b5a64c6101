/**
 * Fault of kafkajs 2.2.4, consumer/consumerGroup.js:457: it waits for a batch before it asks the same broker
 * again, but not before it asks another broker that has become the leader. It fetches the same records from
 * there and drops them, again and again without a pause.
 * The test in test/workarounds/busy-partitions.long.test.ts fails when kafkajs no longer needs
 * this.
 */

import { patchMethod } from "./patch.ts";

interface Partition {
  readonly topic: string;
  readonly partition: number;
}

interface ConsumerGroup {
  getActiveTopicPartitions(): Record<string, Set<number>>;
}

interface Runner {
  readonly consumerGroup: ConsumerGroup;
  processEachBatch(batch: Partition): Promise<void>;
}

/**
 * Makes kafkajs leave out of its fetches a partition whose batch is being processed, in the whole process.
 */
export function spareBusyPartitions(): void {
  const busy = new WeakMap<ConsumerGroup, Set<Partition>>();
  patchMethod<"processEachBatch", Runner>(
    "consumer/runner.js",
    "processEachBatch",
    (process) =>
      async function (this: Runner, batch) {
        const batches = busy.get(this.consumerGroup) ?? new Set();
        busy.set(this.consumerGroup, batches.add(batch));
        try {
          await process.call(this, batch);
        } finally {
          batches.delete(batch);
        }
      },
  );
  patchMethod<"getActiveTopicPartitions", ConsumerGroup>(
    "consumer/consumerGroup.js",
    "getActiveTopicPartitions",
    (getActive) =>
      function (this: ConsumerGroup) {
        const active = getActive.call(this);
        for (const { topic, partition } of busy.get(this) ?? []) active[topic]?.delete(partition);
        return active;
      },
  );
}
