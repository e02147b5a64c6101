import { RejectionError } from "@topicsync/lib/errors";
import type { EventRecord } from "@topicsync/filters";
import type { LogRecord, Partition, RecordHeader, RecordHeaders } from "@topicsync/kafka";
import { isProvenReplay } from "../../src/dead-letters/proof.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import { checkEvent, type DecodedEvent } from "../../src/routing/event.ts";
import { createRejection, toRejection } from "../envelopes/envelope.ts";
import { createBatchRejection, openEnvelopes } from "../envelopes/open.ts";

/** What a record is read as: an event, or why it is not one. */
export type Decoded = DecodedEvent | { readonly rejection: RejectionError };

/**
 * Reads a record as an event: plain, Confluent-framed, or the data of a CloudEvent. Never throws. What has
 * more than `maxBytes` is not parsed: its JSON may take twenty times as much memory.
 */
export function decodeEvent(record: LogRecord, maxBytes: number): Decoded {
  const { value, headers, skippedBatch } = record;
  if (skippedBatch !== undefined) return { rejection: createBatchRejection(skippedBatch) };
  try {
    if (value === null) throw new RejectionError("UNDECODABLE", "The event has no value.");
    if (value.length > maxBytes) {
      const message = `The event has ${value.length} bytes; KAFKA_MAX_EVENT_BYTES allows ${maxBytes}.`;
      throw new RejectionError("TOO_LARGE", message);
    }
    const { json, location, attributes } = openEnvelopes(value, headers, "event");
    const checked = checkEvent(json);
    if (checked.ok) return { event: checked.value, record: new DecodedRecord(record, attributes) };
    throw createRejection(location, "SCHEMA_VIOLATION", "is not a valid TMF688 event.", checked.faults);
  } catch (error) {
    return { rejection: toRejection(error, "event") };
  }
}

/** Reads a text as the value of a record that has nothing else. Throws a RejectionError. */
export function decodeEventText(text: string): DecodedEvent {
  const record = { offset: 0, timestamp: "-1", key: null, value: Buffer.from(text), headers: [] };
  const decoded = decodeEvent(record, Infinity);
  if ("rejection" in decoded) throw decoded.rejection;
  return decoded;
}

/** What filters see of a record. Converted when a filter asks: most filters look at the event alone. */
class DecodedRecord implements EventRecord {
  readonly #record: Pick<LogRecord, "key" | "headers">;
  readonly #attributes: (() => Readonly<Record<string, unknown>>) | undefined;

  constructor(
    record: Pick<LogRecord, "key" | "headers">,
    attributes: (() => Readonly<Record<string, unknown>>) | undefined,
  ) {
    this.#record = record;
    this.#attributes = attributes;
  }

  get $key(): string | undefined {
    return this.#record.key?.toString();
  }

  get $header(): Record<string, string[]> {
    return readHeaders(this.#record.headers);
  }

  get $ce(): Readonly<Record<string, unknown>> | undefined {
    return this.#attributes?.();
  }
}

/** Malformed UTF-8 is replaced; headers without a value are absent. */
const readHeaders = (headers: RecordHeaders): Record<string, string[]> =>
  Object.fromEntries(
    [...Map.groupBy(headers, ([name]) => name)].map(([name, all]) => [
      name,
      all.flatMap(([, value]) => value?.toString() ?? []),
    ]),
  );

/** Removes headers of ours, unless we have written them. Without a key nothing proves that. */
export function removeForgedHeaders(
  record: LogRecord,
  { topic }: Pick<Partition, "topic">,
  proofKey: Buffer | undefined,
): LogRecord {
  const { headers } = record;
  if (!headers.some(isOwnHeader)) return record;
  if (proofKey !== undefined && isProvenReplay(proofKey, topic, record)) return record;
  return { ...record, headers: headers.filter((header) => !isOwnHeader(header)) };
}

const isOwnHeader = ([name]: RecordHeader): boolean =>
  name.startsWith("topicsync.") && name !== routedEventHeader.sample;
