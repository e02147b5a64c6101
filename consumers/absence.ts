import type { Logger } from "../src/lib/logger.ts";
import type { ClaimedPosition } from "../src/sync/positions.ts";
import type { LogBounds, LogWatch } from "../src/sync/records.ts";

/**
 * Warns when a compacted log goes on after a position that is older than the time for which tombstones stay: topics may
 * have been retired by tombstones that are gone. Throws UnavailableError.
 */
export async function warnAboutLongAbsence(
  claimed: ClaimedPosition | undefined,
  { high }: LogBounds,
  { watch, log, partition }: { readonly watch: LogWatch; readonly log: Logger; readonly partition: string },
): Promise<void> {
  if (claimed?.movedOn === undefined || claimed.offset >= high) return;
  const tombstonesStayMs = await watch.tombstoneRetentionMs();
  if (tombstonesStayMs === undefined || Date.now() - claimed.movedOn.getTime() <= tombstonesStayMs) return;
  log.warn(
    {
      partition,
      position: claimed.offset,
      movedOn: claimed.movedOn,
      "delete.retention.ms": tombstonesStayMs,
    },
    "stored position older than delete.retention.ms: topics that were retired meanwhile may stay",
  );
}
