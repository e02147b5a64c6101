import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type TextMapGetter,
} from "@opentelemetry/api";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
  type Resource,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { oncePerMinute } from "@topicsync/lib/concurrency/once-per-minute";
import type { Span, Tracing } from "@topicsync/lib/tracing";
import { version } from "../../config/version.ts";
import type { Exporter, SamplerChoice, TraceSettings } from "./settings.ts";

/** How long a stop waits for the last spans to be exported. */
const closeTimeoutMs = 5_000;

const kinds = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<Span["kind"], SpanKind>;

type GetHeader = (name: string) => string | undefined;
const getter: TextMapGetter<GetHeader> = { keys: () => [], get: (getHeader, name) => getHeader(name) };

/**
 * Creates tracing with OpenTelemetry's SDK. Only this file imports the SDK, and it is loaded only when
 * tracing is on. Spans are created when they are complete, so none stays open. Nothing global is registered
 * except the error handlers.
 */
export function createTracing({ exporters, sampler, batches }: TraceSettings, log: Logger): Tracing {
  const warn = oncePerMinute((failures: number, reason: string) => {
    log.warn({ reason, failures }, "trace export failed");
  });
  setGlobalErrorHandler((error) => {
    warn(typeof error === "string" ? error : getErrorMessage(error));
  });
  const ignore = (): void => undefined;
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const provider = new TracerProvider({
    resource: detectResource(),
    sampler: createSampler(sampler),
    spanProcessors: exporters.map((exporter) => createProcessor(exporter, batches)),
  });
  const tracer = provider.getTracer("topicsync", version);
  const propagator = new W3CTraceContextPropagator();

  return {
    extractContext: (getHeader) => trace.getSpanContext(propagator.extract(ROOT_CONTEXT, getHeader, getter)),
    record({ name, kind, parent, startedAt, endedAt, attributes = {}, error, links = [] }) {
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          startTime: startedAt,
          attributes: error === undefined ? { ...attributes } : { ...attributes, "error.type": error },
          links: links.map((link) => ({ context: link })),
        },
        context,
      );
      if (!span.isRecording()) return undefined;
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
      return span.spanContext();
    },
    close: () => close(provider, warn),
  };
}

async function close(provider: TracerProvider, warn: (reason: string) => void): Promise<void> {
  const expired = Promise.withResolvers<undefined>();
  const timer = setTimeout(expired.resolve, closeTimeoutMs, undefined);
  const flushed = provider.shutdown().catch((error: unknown) => {
    warn(getErrorMessage(error));
  });
  await Promise.race([flushed, expired.promise]);
  clearTimeout(timer);
}

const detectResource = (): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ "service.name": "topicsync", "service.version": version }))
    .merge(
      detectResources({
        detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
      }),
    );

function createSampler({ parentBased, root, ratio }: SamplerChoice): Sampler {
  const sampler = createRootSampler(root, ratio);
  return parentBased ? new ParentBasedSampler({ root: sampler }) : sampler;
}

function createRootSampler(root: SamplerChoice["root"], ratio: number): Sampler {
  switch (root) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
  }
}

/** The OTLP exporter reads its own variables: endpoint, headers, timeout, compression, certificates. */
function createProcessor(exporter: Exporter, batches: TraceSettings["batches"]): SpanProcessor {
  if (exporter === "console") return new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() });
  const configured = Object.entries(batches).filter(([, value]) => value !== undefined);
  return new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...Object.fromEntries(configured) });
}
