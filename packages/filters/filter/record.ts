/**
 * What filters see of the record that carries an event. A list has the values of a header that is repeated.
 */
export interface EventRecord {
  /** Null and absent are the same. */
  readonly $key?: string | null | undefined;
  readonly $header?: Readonly<Record<string, HeaderValue>> | null | undefined;
  /** The attributes of the CloudEvent that the event is the data of. */
  readonly $ce?: Readonly<Record<string, unknown>> | null | undefined;
}

/** A header without a value does not exist. */
type HeaderValue = string | null | readonly (string | null)[];
