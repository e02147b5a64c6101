import { patchMethod } from "./patch.ts";

interface ConsumerGroup {
  generationId: number;
  joinAndSync(): Promise<void>;
}

const noGeneration = -1;

/**
 * Corrects how a member of kafkajs 2.2.4 joins its group, in the whole process.
 *
 * It joins again after it joined a generation of its group but lost the response with its partitions. It would go on with the
 * partitions of the former generation: the coordinator accepts its heartbeats, and nobody reads those that it was given until the
 * next rebalance. Without a generation, its next heartbeat is rejected.
 *
 * It joins once when several brokers tell it to: kafkajs fetches from each of them, and joins for each that finds the metadata stale.
 * The coordinator takes the partitions from the first of these, and the member believes those of the last: one that was added in
 * between would not be read by anybody.
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
