/** Identifies a span, as in a `traceparent` header (W3C Trace Context). */
export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Bit 0: the trace is sampled. */
  readonly traceFlags: number;
}

/** A completed operation. Times are in milliseconds since 1970. */
export interface Span {
  readonly name: string;
  readonly kind: "server" | "consumer" | "internal";
  /** Undefined starts a new trace. */
  readonly parent: SpanContext | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Named by OpenTelemetry's semantic conventions where possible. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** An error code; never contains user data. */
  readonly error?: string | undefined;
  /** Related spans of other traces. */
  readonly links?: readonly SpanContext[];
}

/** Records spans. When tracing is off there is no `Tracing`, and nothing is measured. */
export interface Tracing {
  /** The span named by the headers of a request or record; undefined when there is none. */
  extractContext(getHeader: (name: string) => string | undefined): SpanContext | undefined;
  /** Queues a span for export. Returns its context for child spans; undefined when it is not sampled. */
  record(span: Span): SpanContext | undefined;
  /** Exports the queued spans, for at most a few seconds. Never throws. */
  close(): Promise<void>;
}

/** The stages of a batch, in this order; `decide` and `write` are repeated after an index conflict. */
export type Stage = "decode" | "decide" | "write" | "commit";

export const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & 1) === 1;

/** Creates a monotonic clock: fractional milliseconds since 1970. */
export function createClock(): () => number {
  const start = Date.now() - performance.now();
  return () => start + performance.now();
}
