import type { Environment } from "../config.ts";

/** What OpenTelemetry's variables ask for, as far as its packages do not read them themselves. */
export interface TraceSettings {
  /** Where traces go; to nowhere when they are off. */
  readonly exporters: readonly Exporter[];
  readonly sampler: SamplerChoice;
  /** Undefined: the SDK's own value. */
  readonly batches: Readonly<Record<BatchSetting, number | undefined>>;
  /** What is set but cannot be used. The default counts then, as OpenTelemetry's specification wants it. */
  readonly faults: readonly string[];
}

export type Exporter = "otlp" | "console";

/** Which traces are wanted, of those that begin here or (without `parentBased`) of all. */
export interface SamplerChoice {
  readonly parentBased: boolean;
  readonly root: "always_on" | "always_off" | "traceidratio";
  /** From 0 to 1, for `traceidratio`. */
  readonly ratio: number;
}

type BatchSetting = "scheduledDelayMillis" | "exportTimeoutMillis" | "maxQueueSize" | "maxExportBatchSize";

const samplers: Readonly<Record<string, Omit<SamplerChoice, "ratio">>> = {
  always_on: { parentBased: false, root: "always_on" },
  always_off: { parentBased: false, root: "always_off" },
  traceidratio: { parentBased: false, root: "traceidratio" },
  parentbased_always_on: { parentBased: true, root: "always_on" },
  parentbased_always_off: { parentBased: true, root: "always_off" },
  parentbased_traceidratio: { parentBased: true, root: "traceidratio" },
};

/**
 * Reads the variables. Traces are opt-in: on when an OTLP endpoint or an exporter is named. Never throws: these variables
 * are often set for a whole cluster, and OpenTelemetry's specification wants what is not understood to be ignored with a
 * warning.
 */
export function readTraceSettings(environment: Environment): TraceSettings {
  const faults: string[] = [];
  const read = (name: string): string | undefined => {
    const text = environment[name]?.trim();
    return text === "" ? undefined : text;
  };
  const exporters = exportersOf(read, faults);
  const sampler = samplerOf(read, faults);
  const count = (name: string): number | undefined => {
    const text = read(name);
    if (text === undefined) return undefined;
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    faults.push(`${name} must be a whole number above 0: its default counts`);
    return undefined;
  };
  const batches = {
    scheduledDelayMillis: count("OTEL_BSP_SCHEDULE_DELAY"),
    exportTimeoutMillis: count("OTEL_BSP_EXPORT_TIMEOUT"),
    maxQueueSize: count("OTEL_BSP_MAX_QUEUE_SIZE"),
    maxExportBatchSize: count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
  };
  const protocol = read("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") ?? read("OTEL_EXPORTER_OTLP_PROTOCOL");
  if (exporters.includes("otlp") && protocol !== undefined && protocol !== "http/protobuf")
    faults.push(`the OTLP protocol "${protocol}" is not spoken: http/protobuf is`);
  return { exporters, sampler, batches, faults };
}

type Read = (name: string) => string | undefined;

function exportersOf(read: Read, faults: string[]): Exporter[] {
  if (read("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return [];
  const endpoint = read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? read("OTEL_EXPORTER_OTLP_ENDPOINT");
  const named = read("OTEL_TRACES_EXPORTER") ?? (endpoint === undefined ? "none" : "otlp");
  const exporters = new Set<Exporter>();
  for (const name of named.split(",").map((one) => one.trim())) {
    if (name === "otlp" || name === "console") exporters.add(name);
    else if (name !== "none" && name !== "") faults.push(`OTEL_TRACES_EXPORTER: there is no "${name}" here`);
  }
  return [...exporters];
}

function samplerOf(read: Read, faults: string[]): SamplerChoice {
  const name = read("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const known = Object.hasOwn(samplers, name) ? samplers[name] : undefined;
  if (known === undefined)
    faults.push(`OTEL_TRACES_SAMPLER: "${name}" is not known: parentbased_always_on counts`);
  const choice = known ?? { parentBased: true, root: "always_on" };
  const text = read("OTEL_TRACES_SAMPLER_ARG");
  const ratio = Number(text ?? 1);
  if (choice.root !== "traceidratio" || (ratio >= 0 && ratio <= 1)) return { ...choice, ratio };
  faults.push("OTEL_TRACES_SAMPLER_ARG must be from 0 to 1: 1 counts");
  return { ...choice, ratio: 1 };
}
