import { decodeEvent, decodeEventText } from "../../consumers/events/decode.ts";
import type { Event } from "../../schemas/pick.ts";
import type { Broker } from "../kafka/client.ts";
import { RejectionError, UnavailableError } from "../lib/errors.ts";
import type { DecodedEvent } from "../routing/event.ts";

/** Reads the text of an event as the router does; returns the rejection of what is not one. */
export function readEvent(text: string): DecodedEvent | RejectionError {
  try {
    return decodeEventText(text);
  } catch (error) {
    if (error instanceof RejectionError) return error;
    throw error;
  }
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
