import type { Environment } from "../../config/config.ts";

/** The settings from OpenTelemetry's variables, except those that its packages read themselves. */
export interface TraceSettings {
  /** Empty when tracing is off. */
  readonly exporters: readonly Exporter[];
  readonly sampler: SamplerChoice;
  /** Undefined: the SDK's default. */
  readonly batches: Readonly<Record<BatchSetting, number | undefined>>;
  /** Invalid variables, for which the default applies, as OpenTelemetry's specification requires. */
  readonly faults: readonly string[];
}

export type Exporter = "otlp" | "console";

/** Which traces to record. With `parentBased`, `root` decides only for traces that start here. */
export interface SamplerChoice {
  readonly parentBased: boolean;
  readonly root: "always_on" | "always_off" | "traceidratio";
  /** From 0 to 1, for `traceidratio`. */
  readonly ratio: number;
}

type BatchSetting = "scheduledDelayMillis" | "exportTimeoutMillis" | "maxQueueSize" | "maxExportBatchSize";

/**
 * Reads OpenTelemetry's variables. Tracing is on when an OTLP endpoint or an exporter is set. Never throws:
 * these variables are often set for a whole cluster, and the specification requires unknown values to be
 * ignored with a warning.
 */
export function readTraceSettings(environment: Environment): TraceSettings {
  const faults: string[] = [];
  const read = (name: string): string | undefined => {
    const text = environment[name]?.trim();
    return text === "" ? undefined : text;
  };
  const exporters = parseExporters(read, faults);
  const sampler = parseSampler(read, faults);
  const readCount = (name: string): number | undefined => {
    const text = read(name);
    if (text === undefined) return undefined;
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    faults.push(`${name} must be a positive integer; using the default`);
    return undefined;
  };
  const batches = {
    scheduledDelayMillis: readCount("OTEL_BSP_SCHEDULE_DELAY"),
    exportTimeoutMillis: readCount("OTEL_BSP_EXPORT_TIMEOUT"),
    maxQueueSize: readCount("OTEL_BSP_MAX_QUEUE_SIZE"),
    maxExportBatchSize: readCount("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
  };
  const protocol = read("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") ?? read("OTEL_EXPORTER_OTLP_PROTOCOL");
  if (exporters.includes("otlp") && protocol !== undefined && protocol !== "http/protobuf")
    faults.push(`OTEL_EXPORTER_OTLP_PROTOCOL: "${protocol}" is not supported; using http/protobuf`);
  return { exporters, sampler, batches, faults };
}

type Read = (name: string) => string | undefined;

function parseExporters(read: Read, faults: string[]): Exporter[] {
  if (read("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return [];
  const endpoint = read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? read("OTEL_EXPORTER_OTLP_ENDPOINT");
  const named = read("OTEL_TRACES_EXPORTER") ?? (endpoint === undefined ? "none" : "otlp");
  const exporters = new Set<Exporter>();
  for (const name of named.split(",").map((one) => one.trim())) {
    if (name === "otlp" || name === "console") exporters.add(name);
    else if (name !== "none" && name !== "") faults.push(`OTEL_TRACES_EXPORTER: "${name}" is not supported`);
  }
  return [...exporters];
}

function parseSampler(read: Read, faults: string[]): SamplerChoice {
  const name = read("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const [known, parent, root = "always_on"] =
    /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? [];
  if (known === undefined)
    faults.push(`OTEL_TRACES_SAMPLER: "${name}" is unknown; using parentbased_always_on`);
  const choice = {
    parentBased: known === undefined || parent !== undefined,
    root: root as SamplerChoice["root"],
  };
  const text = read("OTEL_TRACES_SAMPLER_ARG");
  const ratio = Number(text ?? 1);
  if (choice.root !== "traceidratio" || (ratio >= 0 && ratio <= 1)) return { ...choice, ratio };
  faults.push("OTEL_TRACES_SAMPLER_ARG must be from 0 to 1; using 1");
  return { ...choice, ratio: 1 };
}
