/**
 * What must hold when a process claims a partition. Positions and transactions hide most of what it does
 * wrong then.
 */
import type { GroupMember } from "@topicsync/kafka";
import type { BatchHandler, PreparedBatch } from "../../consumers/batch.ts";
import { Violation } from "./violation.ts";

/** Creates a check for the handlers of one process. `runCheck` runs a check. */
export function createClaimCheck(member: GroupMember, runCheck: (check: () => void) => void) {
  /** How many writes are in progress, by partition: also those of readers that were closed. */
  const writing = new Map<number, number>();

  function checkClaim(partition: number): void {
    // A claim aborts the transactions of the owner, who could not get one done while others go on claiming.
    if (!member.isInGroup())
      throw new Violation(`partition ${partition} is claimed by a process that its group has given up`);
    if ((writing.get(partition) ?? 0) > 0)
      throw new Violation(`partition ${partition} is claimed while a former reader of the process writes`);
  }

  return <Prepared extends PreparedBatch, Outcome>(
    partition: number,
    handler: BatchHandler<Prepared, Outcome>,
  ): BatchHandler<Prepared, Outcome> => ({
    ...handler,
    claim() {
      runCheck(() => {
        checkClaim(partition);
      });
      return handler.claim();
    },
    async write(prepared, step, onAttempt) {
      writing.set(partition, (writing.get(partition) ?? 0) + 1);
      try {
        return await handler.write(prepared, step, onAttempt);
      } finally {
        writing.set(partition, (writing.get(partition) ?? 0) - 1);
      }
    },
  });
}
