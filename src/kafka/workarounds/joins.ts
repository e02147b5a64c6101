/**
 * Faults of kafkajs 2.2.4, consumer/consumerGroup.js:331: a member that joined a generation of its group but
 * lost the response with its partitions goes on with those of the former generation. The coordinator accepts
 * its heartbeats, and nobody reads the lost partitions until the next rebalance. The member also joins for
 * each broker that finds its metadata stale: the coordinator takes the partitions from the first of these
 * joins, and the member believes those of the last, so a partition that was added in between would not be
 * read by anybody.
 * The test in test/unit/kafka/workarounds/joins.test.ts fails when kafkajs no longer needs this.
 */

import { patchMethod } from "./patch.ts";

interface ConsumerGroup {
  generationId: number;
  joinAndSync(): Promise<void>;
}

const noGeneration = -1;

/**
 * Corrects how a member joins its group, in the whole process. Without a generation, the next heartbeat after
 * a lost response is rejected, and the member joins again. When several brokers tell it to join, it joins
 * once.
 */
export function correctJoins(): void {
  const joins = new WeakMap<ConsumerGroup, Promise<void>>();
  patchMethod<"joinAndSync", ConsumerGroup>(
    "consumer/consumerGroup.js",
    "joinAndSync",
    (joinAndSync) =>
      function (this: ConsumerGroup) {
        let join = joins.get(this);
        join ??= joinAndSync
          .call(this)
          .catch((error: unknown) => {
            this.generationId = noGeneration;
            throw error;
          })
          .finally(() => joins.delete(this));
        joins.set(this, join);
        return join;
      },
  );
}
