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

import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { oncePerMinute } from "../lib/once-per-minute.ts";
import { version } from "../lib/version.ts";
import type { Exporter, SamplerChoice, TraceSettings } from "./settings.ts";
import type { Span, Tracing } from "./tracing.ts";

/** Whoever stops the service waits so long for the last spans at most. */
const maxClosingMs = 5_000;

const kinds = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<Span["kind"], SpanKind>;

type HeaderOf = (name: string) => string | undefined;
const getter: TextMapGetter<HeaderOf> = { keys: () => [], get: (headerOf, name) => headerOf(name) };

/**
 * Makes the traces over OpenTelemetry's SDK: the only file that imports it, and imported only where traces are on. A span
 * is made when it is over, so none is ever left open. Nothing global is patched or registered but where faults are told.
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
    resource: resourceOfService(),
    sampler: samplerOf(sampler),
    spanProcessors: exporters.map((exporter) => processorOf(exporter, batches)),
  });
  const tracer = provider.getTracer("topicsync", version);
  const propagator = new W3CTraceContextPropagator();

  return {
    contextOf: (headerOf) => trace.getSpanContext(propagator.extract(ROOT_CONTEXT, headerOf, getter)),
    tell({ name, kind, parent, began, ended, attributes = {}, error, links = [] }) {
      const within = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          startTime: began,
          attributes: error === undefined ? { ...attributes } : { ...attributes, "error.type": error },
          links: links.map((context) => ({ context })),
        },
        within,
      );
      if (!span.isRecording()) return undefined;
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(ended);
      return span.spanContext();
    },
    close: () => close(provider, warn),
  };
}

async function close(provider: TracerProvider, warn: (reason: string) => void): Promise<void> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, maxClosingMs, undefined);
  const flushed = provider.shutdown().catch((error: unknown) => {
    warn(getErrorMessage(error));
  });
  await Promise.race([flushed, late.promise]);
  clearTimeout(timer);
}

const resourceOfService = (): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ "service.name": "topicsync", "service.version": version }))
    .merge(
      detectResources({
        detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
      }),
    );

function samplerOf({ parentBased, root, ratio }: SamplerChoice): Sampler {
  const sampler = rootSampler(root, ratio);
  return parentBased ? new ParentBasedSampler({ root: sampler }) : sampler;
}

function rootSampler(root: SamplerChoice["root"], ratio: number): Sampler {
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
function processorOf(exporter: Exporter, batches: TraceSettings["batches"]): SpanProcessor {
  if (exporter === "console") return new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() });
  const given = Object.entries(batches).filter(([, value]) => value !== undefined);
  return new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...Object.fromEntries(given) });
}
