import type { Logger } from "../src/lib/logger.ts";
import { UnavailableError } from "../src/lib/errors.ts";
import { elapsed } from "../src/lib/platform.ts";
import type { ClaimedPosition, Position } from "../src/sync/positions.ts";
import type { LogRecord, LogWatch, Partition } from "../src/sync/records.ts";
import {
  findStart,
  nothingApplied,
  nothingFound,
  provesNewEpoch,
  suspectOffset,
  warnAboutLongAbsence,
  type Start,
} from "./start-position.ts";

/** Finds out whether the log of a partition is still the one that a position belongs to, by the rules of start-position.ts. */
export interface LogExaminer {
  /**
   * Finds where to start after a claim. `before` is the position that this reader knew before it; undefined at first. Throws
   * UnavailableError.
   */
  start(claimed: ClaimedPosition | undefined, before: Position | undefined): Promise<ExaminedStart>;
  /** Finds where records before the position must be examined from; undefined when none must. Throws UnavailableError. */
  findSuspect(position: Position): Promise<Suspect | undefined>;
  /** The same, as if nothing had been examined before. */
  findSuspectAnew(position: Position): Promise<Suspect | undefined>;
  /** Whether fetched records before the position prove that its epoch is over. The next start is in a new one then. */
  provesNewLog(records: readonly LogRecord[], position: Position): boolean;
  /** Every record before the position was examined. */
  complete(position: Position, newerFrom: number): void;
}

interface ExaminedStart extends Omit<Start, "warning"> {
  readonly newerFrom: number;
}

/** Records that may belong to a new epoch. */
export interface Suspect {
  /** The first of them. */
  readonly from: number;
  /** See `Findings`. */
  readonly newerFrom: number;
}

/** How long an examination counts that had no timestamp to compare with: nothing would show that the log is a new one since. */
const untimedExaminationMs = 1_000;

export function createLogExaminer({
  partition: { partition },
  watch,
  log,
}: {
  readonly partition: Partition;
  readonly watch: LogWatch;
  readonly log: Logger;
}): LogExaminer {
  let findings = nothingFound;
  let examinedAt = 0;
  let isTimed = false;

  async function fetchBounds() {
    const bounds = (await watch.fetchBounds()).get(partition);
    if (bounds === undefined) throw new UnavailableError("Kafka does not know the partition");
    return bounds;
  }

  /** The first offset with a later timestamp than anything applied; undefined when unknown. Throws UnavailableError. */
  async function findFirstNewer(newest: number | undefined): Promise<number | undefined> {
    if (newest === undefined) return undefined;
    // Everything is newer. To find that by time, the broker would decompress the first batch, however large it is.
    if (newest === nothingApplied) return (await fetchBounds()).low;
    return (await watch.findFirstSince(newest + 1)).get(partition);
  }

  /**
   * Where newer records begin, as a mark of this log: Infinity when there are none yet, because those that follow may be of the
   * next log. Throws UnavailableError.
   */
  async function findNewer(newest: number | undefined) {
    // First, so that records that arrive meanwhile are not taken for earlier ones.
    const bounds = await fetchBounds();
    const firstNewer = await findFirstNewer(newest);
    const isFound = firstNewer !== undefined && firstNewer < bounds.high;
    return { bounds, firstNewer, newerFrom: isFound ? firstNewer : Infinity };
  }

  async function findSuspect(position: Position, known: typeof findings): Promise<Suspect | undefined> {
    const { newest } = position;
    if (suspectOffset(position, await findFirstNewer(newest), known) === undefined) return undefined;
    const { firstNewer, newerFrom } = await findNewer(newest);
    const from = suspectOffset(position, firstNewer, known);
    return from === undefined ? undefined : { from, newerFrom };
  }

  const isExaminationValid = ({ newest }: Position): boolean =>
    isTimed || (newest === nothingApplied && elapsed() - examinedAt <= untimedExaminationMs);

  return {
    async start(claimed, before) {
      // While nothing was read, the log may have been replaced by another one, which nobody has examined; and an owner that
      // has moved the position since has found the end of an epoch by itself.
      findings = isMovedByOthers(claimed, before) ? nothingFound : { ...findings, examinedTo: 0 };
      const { bounds, firstNewer, newerFrom } = await findNewer(claimed?.newest);
      // Only at the start: later, a position is old because nothing was announced.
      if (before === undefined) await warnAboutLongAbsence(claimed, bounds, { watch, log });
      const { warning, ...start } = findStart(claimed, { ...bounds, firstNewer }, findings);
      if (warning !== undefined)
        log.warn({ position: claimed?.offset, logStart: bounds.low, logEnd: bounds.high }, warning);
      return { ...start, newerFrom };
    },

    findSuspect: (position) => findSuspect(position, isExaminationValid(position) ? findings : nothingFound),
    findSuspectAnew: (position) => findSuspect(position, nothingFound),

    provesNewLog(records, position) {
      for (const record of records) {
        if (record.offset >= position.offset) break;
        if (!provesNewEpoch(record, position)) continue;
        findings = { ...nothingFound, endedEpoch: position.epoch };
        return true;
      }
      return false;
    },

    complete({ offset, newest }, newerFrom) {
      findings = { ...findings, examinedTo: offset, newerFrom };
      examinedAt = elapsed();
      isTimed = newest !== nothingApplied;
    },
  };
}

const isMovedByOthers = (claimed: ClaimedPosition | undefined, before: Position | undefined): boolean =>
  claimed?.isOurs === false && (claimed.offset !== before?.offset || claimed.epoch !== before.epoch);
