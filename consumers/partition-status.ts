import { UnavailableError } from "../src/lib/errors.ts";
import { FencedError } from "../src/sync/positions.ts";
import type { Partition } from "../src/sync/records.ts";

export type PauseCause = "outage" | "error";

export interface PartitionStatus extends Partition {
  readonly state: "reading" | "paused";
  /** Undefined while it is read. */
  readonly reason: string | undefined;
  /**
   * The failure that paused it: an outage of a service, or an unexpected error. Undefined when nothing
   * failed.
   */
  readonly cause: PauseCause | undefined;
  /** The offset of the next record to apply; undefined before it was looked up, or when there is none. */
  readonly offset: number | undefined;
}

/** Undefined when another consumer moved the position: nothing failed then. */
export function toPauseCause(error: unknown): PauseCause | undefined {
  if (error instanceof FencedError) return undefined;
  return error instanceof UnavailableError ? "outage" : "error";
}
