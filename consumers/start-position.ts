import type { Logger } from "../src/lib/logger.ts";
import { now } from "../src/lib/platform.ts";
import type { ClaimedPosition, Position } from "../src/sync/positions.ts";
import type { LogBounds, LogRecord, LogWatch } from "../src/sync/records.ts";

/**
 * Where reading starts, and in which epoch of the log.
 *
 * Invariant: only a delivered record proves that an epoch is over, one before the position that is newer than every record
 * applied so far. The log's bounds and the broker's index by time raise a suspicion and no more: the index also counts
 * transaction markers and aborted records, and a broker that lost its leadership may show an old end. What is suspicious
 * is fetched once more and examined.
 */

/** The log of a partition as the broker shows it. */
export interface LogView extends LogBounds {
  /** The first offset with a later timestamp than anything applied, markers included; undefined when that is not known. */
  readonly firstNewer: number | undefined;
}

/** What the reader of a partition has found out about its log so far. */
export interface Findings {
  /** This epoch and those before it are over; 0 when none is known to be. */
  readonly endedEpoch: number;
  /** Every record before this offset was examined and belongs to the position's epoch. */
  readonly examinedTo: number;
  /**
   * Where what is newer than anything applied began when the examination started; Infinity when nowhere. It never moves back in
   * the same log, so an earlier one shows that the records before `examinedTo` are not those that were examined.
   */
  readonly newerFrom: number;
}

export const nothingFound: Findings = { endedEpoch: 0, examinedTo: 0, newerFrom: Infinity };

export interface Start {
  /** The next record to apply. */
  readonly position: Position;
  /** Where fetching starts. Records before the position are examined, not applied. */
  readonly fetchFrom: number;
  readonly warning?: string;
}

/**
 * `newest` where nothing of an epoch was applied yet: whatever is delivered before the position later, which moves over aborted
 * records and markers, belongs to a new log.
 */
export const nothingApplied = 0;

/** Where to start, given the stored position: there, as far as the log still has it. */
export function findStart(
  stored: Position | undefined,
  { low, high, firstNewer }: LogView,
  findings: Findings,
): Start {
  if (stored === undefined)
    return { position: { offset: low, epoch: 1, newest: nothingApplied }, fetchFrom: low };
  const isCut = stored.offset > high;
  // Without a known timestamp no record could prove anything.
  if (stored.epoch <= findings.endedEpoch || (isCut && stored.newest === undefined)) {
    return {
      position: { offset: low, epoch: stored.epoch + 1, newest: nothingApplied },
      fetchFrom: low,
      warning:
        "the log is a new one: the Kafka topic was deleted and created again; reading from the beginning",
    };
  }
  if (isCut) {
    return {
      position: stored,
      fetchFrom: low,
      warning: "stored offset out of range: the log ends before it; examining the log for new records",
    };
  }
  if (stored.offset < low) {
    return {
      position: { ...stored, offset: low },
      fetchFrom: low,
      warning: "stored offset out of range: records were deleted before they were read",
    };
  }
  return { position: stored, fetchFrom: suspectOffset(stored, firstNewer, findings) ?? stored.offset };
}

/** The offset from which records before the position have to be examined; undefined when none has to be. */
export function suspectOffset(
  { offset }: Position,
  firstNewer: number | undefined,
  { examinedTo, newerFrom }: Findings,
): number | undefined {
  if (firstNewer === undefined) return undefined;
  const from = firstNewer < newerFrom ? firstNewer : Math.max(firstNewer, examinedTo);
  return from < offset ? from : undefined;
}

/** Whether a delivered record proves that the position's epoch is over. */
export const provesNewEpoch = (record: LogRecord, { offset, newest }: Position): boolean =>
  record.offset < offset && newest !== undefined && (getTimestampMs(record) ?? 0) > newest;

/** The position after applying records; `offset` is the next one to apply. */
export function advance(position: Position, records: readonly LogRecord[], offset: number): Position {
  let { newest } = position;
  for (const record of records) {
    const timestamp = getTimestampMs(record);
    if (timestamp !== undefined && (newest === undefined || timestamp > newest)) newest = timestamp;
  }
  return { offset, epoch: position.epoch, ...(newest === undefined ? {} : { newest }) };
}

/**
 * Later timestamps are not in milliseconds: some producers send micro- or nanoseconds. The limit is fixed, because a record
 * that was ignored when it was applied must not count later.
 */
const maxTimestampMs = Date.UTC(2100, 0);

/** A record's timestamp in milliseconds; undefined when it has none (-1) or a meaningless one. */
function getTimestampMs({ timestamp }: LogRecord): number | undefined {
  const milliseconds = Number(timestamp);
  return milliseconds >= 0 && milliseconds <= maxTimestampMs ? milliseconds : undefined;
}

/**
 * Warns when a compacted log continues after a position that is older than the time for which tombstones stay: topics may
 * have been retired by tombstones that are gone. Throws UnavailableError.
 */
export async function warnAboutLongAbsence(
  claimed: ClaimedPosition | undefined,
  { high }: LogBounds,
  { watch, log }: { readonly watch: LogWatch; readonly log: Logger },
): Promise<void> {
  if (claimed?.movedOn === undefined || claimed.offset >= high) return;
  const retentionMs = await watch.fetchTombstoneRetentionMs();
  if (retentionMs === undefined || now() - claimed.movedOn.getTime() <= retentionMs) return;
  log.warn(
    { position: claimed.offset, movedOn: claimed.movedOn, "delete.retention.ms": retentionMs },
    "stored position older than delete.retention.ms: topics that were retired meanwhile may stay",
  );
}
