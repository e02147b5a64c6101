/**
 * Faults of kafkajs 2.2.4 with the membership in a group. Each is corrected in the whole process, and a test
 * in test/workarounds fails when kafkajs no longer needs it.
 */

import kafkajs from "kafkajs";

import { errorCodes } from "../protocol/error-codes.ts";
import { failOnError } from "../protocol/request.ts";
import { patchMethod } from "./patch.ts";

interface ConsumerGroup {
  generationId: number;
  readonly memberId: string | null;
  joinAndSync(): Promise<void>;
  heartbeat(options: object): Promise<void>;
}

const path = "consumer/consumerGroup.js";
const noGeneration = -1;

/**
 * Corrects how a member joins its group. consumer/consumerGroup.js:331: a member that joined a generation but
 * lost the response with its partitions goes on with those of the former generation. The coordinator accepts
 * its heartbeats, and nobody reads the lost partitions until the next rebalance. Without a generation, the
 * next heartbeat is rejected, and the member joins again.
 *
 * The member also joins for each broker that finds its metadata stale: the coordinator takes the partitions
 * from the first of these joins, and the member believes those of the last, so a partition that was added in
 * between would not be read by anybody. It joins once instead.
 *
 * A member that its group no longer knows forgets its id and joins; if that fails, it has no id to send
 * heartbeats with (line 136), so nothing tells it to join again. A heartbeat without an id is rejected.
 */
export function correctJoins(): void {
  const joins = new WeakMap<ConsumerGroup, Promise<void>>();
  patchMethod<ConsumerGroup, "joinAndSync">(path, "joinAndSync", (group, joinAndSync) => {
    let join = joins.get(group);
    join ??= joinAndSync()
      .catch((error: unknown) => {
        group.generationId = noGeneration;
        throw error;
      })
      .finally(() => joins.delete(group));
    joins.set(group, join);
    return join;
  });
  patchMethod<ConsumerGroup, "heartbeat">(path, "heartbeat", async (group, heartbeat, options) => {
    if (group.memberId === null && !joins.has(group)) failOnError(errorCodes.unknownMemberId);
    await heartbeat(options);
  });
}

interface OffsetManager {
  readonly memberAssignment: Readonly<Record<string, readonly number[]>>;
  readonly cluster: {
    findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  };
  resolveOffsets(): Promise<void>;
}

/**
 * Makes a member join its group again after it was given a partition that is gone. A Kafka topic that is
 * deleted and created again may have fewer partitions, and the members may learn of it late. For a partition
 * that is gone, consumer/offsetManager/index.js:293 looks for bounds in a response that does not have them,
 * and the TypeError ends the member.
 */
export function rejoinWithoutPartitions(): void {
  patchMethod<OffsetManager, "resolveOffsets">(
    "consumer/offsetManager/index.js",
    "resolveOffsets",
    async (manager, resolveOffsets) => {
      try {
        await resolveOffsets();
      } catch (error) {
        if (!(error instanceof TypeError) || !lacksPartition(manager)) throw error;
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
