/** A span that others can lie within: what a `traceparent` header names (W3C Trace Context). */
export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Bit 0 says that the trace is sampled: that somebody wants to see it. */
  readonly traceFlags: number;
}

/** Something that was done, told once it is over. Times are in milliseconds since 1970. */
export interface Span {
  readonly name: string;
  readonly kind: "server" | "consumer" | "internal";
  /** The span that this one lies within; undefined begins a trace of its own. */
  readonly parent: SpanContext | undefined;
  readonly began: number;
  readonly ended: number;
  /** By the names of OpenTelemetry's semantic conventions where they have one. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** Why it failed: a code, never anything of what was sent. */
  readonly error?: string | undefined;
  /** Spans of other traces that belong to it. */
  readonly links?: readonly SpanContext[];
}

/** The port of the traces. Where they are off there is none, and nothing is measured. */
export interface Tracing {
  /** What the headers of a caller or a producer name; undefined when they name no span. */
  contextOf(header: (name: string) => string | undefined): SpanContext | undefined;
  /** Tells of a span, to be sent sooner or later. Gives it for what lies within; undefined when nobody wants to see it. */
  tell(span: Span): SpanContext | undefined;
  /** Sends what was told and not sent yet, as far as that is possible within some seconds. Never throws. */
  close(): Promise<void>;
}

/** What is done with a batch of records, in this order; `decide` and `write` repeat when a unique index rejected the write. */
export type Stage = "decode" | "decide" | "write" | "commit";

/** Whether somebody wants to see the trace that a span is of. */
export const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & 1) === 1;

/** A clock that never goes back, for what is measured together: milliseconds since 1970, with fractions. */
export function traceClock(): () => number {
  const start = Date.now() - performance.now();
  return () => start + performance.now();
}
