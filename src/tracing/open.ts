import type { Environment } from "../config.ts";
import type { Logger } from "../lib/logger.ts";
import { readTraceSettings } from "./settings.ts";
import type { Tracing } from "./tracing.ts";

/**
 * Opens the traces as OpenTelemetry's variables ask for them; undefined, and nothing of its SDK is loaded, where they ask for
 * none.
 */
export async function openTracing(environment: Environment, log: Logger): Promise<Tracing | undefined> {
  const settings = readTraceSettings(environment);
  for (const fault of settings.faults) log.warn({ fault }, "trace setting ignored");
  if (settings.exporters.length === 0) return undefined;
  // Its packages read what is theirs from the process's environment, which a .env file is beneath.
  for (const [name, value] of Object.entries(environment))
    if (name.startsWith("OTEL_") && value !== undefined) process.env[name] = value;
  const { createTracing } = await import("./opentelemetry.ts");
  return createTracing(settings, log);
}
