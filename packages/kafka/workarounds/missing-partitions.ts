/**
 * Fault of kafkajs 2.2.4, consumer/offsetManager/index.js:293: a Kafka topic that is deleted and created
 * again may have fewer partitions, and the members may learn of it late. For a partition that is gone,
 * kafkajs looks for bounds in a response that does not have them, and the TypeError ends the member.
 * The test in test/workarounds/missing-partitions.test.ts fails when kafkajs no longer needs this.
 */

import kafkajs from "kafkajs";

import { patchMethod } from "./patch.ts";

interface OffsetManager {
  readonly memberAssignment: Readonly<Record<string, readonly number[]>>;
  readonly cluster: {
    findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  };
  resolveOffsets(): Promise<void>;
}

/** Makes a member join its group again after it was given a partition that is gone, in the whole process. */
export function rejoinWithoutPartitions(): void {
  patchMethod<"resolveOffsets", OffsetManager>(
    "consumer/offsetManager/index.js",
    "resolveOffsets",
    (resolveOffsets) =>
      async function (this: OffsetManager) {
        try {
          await resolveOffsets.call(this);
        } catch (error) {
          if (!(error instanceof TypeError) || !lacksPartition(this)) throw error;
          // kafkajs repeats after an error of this kind with pauses, and then leaves the group. After other
          // errors it joins again at once, and again.
          throw new kafkajs.KafkaJSError("the partition is gone", { retriable: true });
        }
      },
  );
}

/** Whether the cluster, as far as kafkajs knows, lacks a partition that the member was given. */
const lacksPartition = ({ memberAssignment, cluster }: OffsetManager): boolean =>
  Object.entries(memberAssignment).some(([topic, partitions]) => {
    const existing = new Set(cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId));
    return partitions.some((partition) => !existing.has(partition));
  });
