import type { RejectionCode } from "@topicsync/lib/errors";
import type { EventRecord } from "@topicsync/filters";
import type { ImpactResult } from "../../../schemas/impact.ts";

/** Where a record is: in a partition of a Kafka topic, or on a line of a file, whose partition is 0. */
export interface EventPlace {
  readonly partition: number;
  readonly offset: number;
}

/** A record that was read as the router reads it. */
export interface ReadEvent extends EventPlace {
  readonly event: unknown;
  readonly record: EventRecord;
  /** Milliseconds since 1970, as the record has it. */
  readonly timestamp: number;
  /** The size of key, value and headers. */
  readonly bytes: number;
  /** A replay goes only to these topics, by external id. Undefined: to all that it belongs to. */
  readonly only: ReadonlySet<string> | undefined;
}

/** A record that the router would not forward to any topic. */
export interface RejectedRecord extends EventPlace {
  readonly timestamp: number;
  readonly code: RejectionCode;
}

/** Takes what was read. */
export interface EventSink {
  add(event: ReadEvent): void;
}

/** What was read, and whether that is everything. */
export type ReadResult = Pick<ImpactResult, "complete" | "read">;
