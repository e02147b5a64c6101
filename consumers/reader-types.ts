import { UnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import {
  FencedError,
  type LogStore,
  type Position,
  type GroupMember,
  type LogWatch,
  type Partition,
} from "@topicsync/kafka";
import { OtherClusterError } from "./clusters.ts";
import type { PauseCause } from "./partition-status.ts";
import type { BatchHandler, PreparedBatch } from "./batch.ts";

export interface ReaderOptions<Prepared extends PreparedBatch, Outcome> {
  readonly partition: Partition;
  readonly member: GroupMember;
  readonly watch: LogWatch;
  readonly logs: LogStore;
  /** What `topicsync positions` calls the reader. */
  readonly consumer: string;
  readonly handler: BatchHandler<Prepared, Outcome>;
  readonly log: Logger;
  /** Resolves when this process has no other reader of the partition that may still write. */
  readonly previousClosed: Promise<void>;
  /**
   * Whether a missing right at the reader's start is a failure. Otherwise it waits until the right is
   * granted.
   */
  readonly endsOnDenial: boolean;
  /** Called when the reader cannot continue: a missing right at its start, or a bug. */
  readonly onFailed: (error: unknown) => void;
}

/** Nothing is fetched; the stored position is claimed until that succeeds. */
interface Paused {
  readonly kind: "paused";
  readonly reason: string;
  readonly cause: PauseCause | undefined;
}

/**
 * Records are prepared and written. Each claim begins another one: what was fetched during an earlier one is
 * outdated.
 */
export interface Reading {
  readonly kind: "reading";
  /** The topic id that fetched records must have; undefined where brokers cannot fetch by id. */
  readonly topicId: string | undefined;
  /**
   * The position after the write in progress: the next record to apply, and the offset at which the next
   * fetch begins.
   */
  next: Position;
}

/** An invariant does not hold: nothing more is read or written until the partition is assigned again. */
interface Stopped {
  readonly kind: "stopped";
  readonly reason: string;
  readonly cause: "error";
}

export type Mode = Paused | Reading | Stopped;

export const outsideGroup = "this process is not in the consumer group";

/** A write that failed. It may have been stored nevertheless: only the response to its commit was lost. */
export interface FailedWrite<Prepared, Outcome> {
  readonly prepared: Prepared;
  /** The outcome of its last attempt; undefined if that is not known. */
  readonly outcome: Outcome | undefined;
  readonly to: Position;
}

/** Undefined when another consumer moved the position: nothing failed then. */
export function toPauseCause(error: unknown): PauseCause | undefined {
  if (error instanceof FencedError) return undefined;
  if (error instanceof OtherClusterError) return "decision";
  return error instanceof UnavailableError ? "outage" : "error";
}
