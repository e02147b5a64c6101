import type { Position } from "../src/positions.ts";
import type { LogBounds } from "../src/records.ts";

/** The log of a partition as the broker shows it. */
export interface LogView extends LogBounds {
  /** The offset of the first record that is newer than anything applied; undefined when nothing is known of that. */
  readonly firstNewer: number | undefined;
}

/** Where reading starts, and what is to be said of it. */
export interface Start {
  readonly position: Position;
  readonly warning?: string;
}

/**
 * Where to read from: the stored position, as far as the log still has it. A log that ends before the position, or has
 * newer records than the newest applied one in front of it, is another log under the same name (the Kafka topic was deleted
 * and created again, or its end was cut off and written anew): it is read from its beginning.
 */
export function startOf(stored: Position | undefined, { low, high, firstNewer }: LogView): Start {
  if (stored === undefined) return { position: { offset: low, epoch: 1 } };
  const anew = { offset: low, epoch: stored.epoch + 1 };
  if (stored.offset > high) {
    return {
      position: anew,
      warning:
        "the log ends before the stored position: it was made anew or cut; reading it from its beginning",
    };
  }
  if (firstNewer !== undefined && firstNewer < stored.offset) {
    return {
      position: anew,
      warning:
        "records before the stored position are newer than the newest that was applied: the log was made anew; reading it from its beginning",
    };
  }
  if (stored.offset < low) {
    return {
      position: { ...stored, offset: low },
      warning:
        "the log begins behind the stored position: records between were deleted before they were read",
    };
  }
  return { position: stored };
}
