/**
 * Faults of kafkajs 2.2.4, consumer/consumerGroup.js:331: a member that joined a generation of its group but
 * lost the response with its partitions goes on with those of the former generation. The coordinator accepts
 * its heartbeats, and nobody reads the lost partitions until the next rebalance. The member also joins for
 * each broker that finds its metadata stale: the coordinator takes the partitions from the first of these
 * joins, and the member believes those of the last, so a partition that was added in between would not be
 * read by anybody. A member that its group no longer knows forgets its id and joins; if that fails, it has no
 * id to send heartbeats with (line 136), so nothing tells it to join again.
 * The test in test/workarounds/joins.test.ts fails when kafkajs no longer needs this.
 */

import { errorCodes } from "../protocol/error-codes.ts";
import { failOnError } from "../protocol/request.ts";
import { patchMethod } from "./patch.ts";

interface ConsumerGroup {
  generationId: number;
  readonly memberId: string | null;
  joinAndSync(): Promise<void>;
  heartbeat(options: object): Promise<void>;
}

const noGeneration = -1;

/**
 * Corrects how a member joins its group, in the whole process. Without a generation, the next heartbeat after
 * a lost response is rejected, and the member joins again; so is a heartbeat without an id. When several
 * brokers tell it to join, it joins once.
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
  patchMethod<"heartbeat", ConsumerGroup>(
    "consumer/consumerGroup.js",
    "heartbeat",
    (heartbeat) =>
      async function (this: ConsumerGroup, options) {
        if (this.memberId === null && !joins.has(this)) failOnError(errorCodes.unknownMemberId);
        await heartbeat.call(this, options);
      },
  );
}
