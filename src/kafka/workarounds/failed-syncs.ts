import { patchMethod } from "./patch.ts";

interface ConsumerGroup {
  generationId: number;
  joinAndSync(): Promise<void>;
}

const noGeneration = -1;

/**
 * Makes a member of kafkajs 2.2.4 join again after it joined a generation of its group but lost the response with its
 * partitions, in the whole process. It would go on with the partitions of the former generation: the coordinator accepts its
 * heartbeats, and nobody reads those that it was given until the next rebalance. Without a generation, its next heartbeat is
 * rejected.
 */
export function rejoinAfterFailedSyncs(): void {
  patchMethod<"joinAndSync", ConsumerGroup>(
    "consumer/consumerGroup.js",
    "joinAndSync",
    (joinAndSync) =>
      async function (this: ConsumerGroup) {
        try {
          await joinAndSync.call(this);
        } catch (error) {
          this.generationId = noGeneration;
          throw error;
        }
      },
  );
}
