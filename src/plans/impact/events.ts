import type { RejectionCode } from "@topicsync/lib/errors";
import type { EventRecord } from "@topicsync/filters";

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

/** A record that is not an event, as it is shown. */
export type ShownRecord = Omit<RejectedRecord, "timestamp">;

/** Takes what was read. */
export interface EventSink {
  add(event: ReadEvent): void;
}

export interface ReadCounts {
  readonly records: number;
  readonly events: number;
  /** How many records are not events, by code. */
  readonly rejected: Readonly<Partial<Record<RejectionCode, number>>>;
  /** Some of them, in order. */
  readonly rejectedExamples: readonly ShownRecord[];
  /** The earliest and the latest timestamp, in milliseconds since 1970; undefined without one. */
  readonly first: number | undefined;
  readonly last: number | undefined;
}
