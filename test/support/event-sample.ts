import type { Event } from "../../schemas/pick.ts";
import type { EventSample } from "../../src/event-types/event-type.ts";
import { EventSampler } from "../../src/event-types/sampler.ts";

/** A sample of these events, one per second from a time on. */
export function sampleEvents(
  events: readonly Event[],
  from = Date.UTC(2026, 10, 3, 15, 40),
): Promise<EventSample> {
  const sampler = new EventSampler();
  for (const [at, event] of events.entries()) sampler.add(event, from + at * 1_000);
  return sampler.describe();
}
