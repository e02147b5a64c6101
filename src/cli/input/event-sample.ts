import type { EventSample } from "../../event-types/event-type.ts";
import { ConfigurationError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { formatCount, formatMinute } from "../output/format.ts";

/** Reads the last events. Throws ConfigurationError and UnavailableError. */
export async function readSample(context: CommandContext): Promise<EventSample> {
  // Only some commands need what it loads.
  const { createSampleReader } = await import("../../service/event-sample.ts");
  const read = createSampleReader(context);
  if (read === undefined)
    throw new ConfigurationError("KAFKA_EVENTS_TOPIC is not set: there are no events to read");
  return read();
}

/** "the last 400 events, from 2026-11-22 14:05 to 2026-11-22 14:07". */
export function formatSample({ events, rejected, from, to }: EventSample): string {
  const times =
    from === undefined || to === undefined ? "" : `, from ${formatMinute(from)} to ${formatMinute(to)}`;
  const others = rejected === 0 ? "" : `; ${formatCount(rejected, "record")} skipped: not a valid event`;
  return `the last ${formatCount(events, "event")}${times}${others}`;
}
