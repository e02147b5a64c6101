import { decodeEvent } from "../../consumers/events/decode.ts";
import type { Event } from "../../schemas/pick.ts";
import type { Broker } from "../kafka/client.ts";
import { UnavailableError } from "../lib/errors.ts";
import { checkEvent } from "../matching/event.ts";

/** Reads JSON as the router reads an event; undefined if it is not one. */
export function readEvent(json: unknown): Event | undefined {
  const checked = checkEvent(json);
  return checked.ok ? checked.value : undefined;
}

interface LastEvents {
  readonly topic: string;
  readonly maxEventBytes: number;
  readonly count: number;
  readonly abort: AbortSignal;
}

/**
 * Yields about the last `count` records of the events topic as the router reads them, the same number of each
 * partition; undefined for what is not an event. Throws UnavailableError.
 */
export async function* readLastEvents(
  broker: Broker,
  { topic, maxEventBytes, count, abort }: LastEvents,
): AsyncGenerator<Event | undefined> {
  const bounds = await broker.fetchBounds(topic);
  if (bounds === undefined) throw new UnavailableError(`there is no Kafka topic named "${topic}"`);
  const each = Math.ceil(count / Math.max(1, bounds.size));
  const from = new Map([...bounds].map(([partition, { high }]) => [partition, Math.max(0, high - each)]));
  for await (const { record } of broker.read(topic, { from, abort })) {
    const decoded = decodeEvent(record, maxEventBytes);
    yield "event" in decoded ? decoded.event : undefined;
  }
}
