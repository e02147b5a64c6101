import type { Logger } from "@topicsync/lib/logger";
import type { Tracing } from "@topicsync/lib/tracing";
import type { Environment } from "../../config/config.ts";
import { readTraceSettings } from "./settings.ts";

/**
 * Sets up tracing as configured by OpenTelemetry's variables. Returns undefined, without loading its SDK,
 * when they configure no exporter.
 */
export async function openTracing(environment: Environment, log: Logger): Promise<Tracing | undefined> {
  const settings = readTraceSettings(environment);
  for (const fault of settings.faults) log.warn({ fault }, "trace setting ignored");
  if (settings.exporters.length === 0) return undefined;
  // OpenTelemetry's packages read process.env, which does not contain the .env file.
  for (const [name, value] of Object.entries(environment))
    if (name.startsWith("OTEL_") && value !== undefined) process.env[name] = value;
  const { createTracing } = await import("./opentelemetry.ts");
  return createTracing(settings, log);
}
