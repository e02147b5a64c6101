import { type ValidationResult, createValidator } from "@topicsync/lib/validation";
import { LongNumber, type EventRecord } from "@topicsync/filters";
import { eventRecordSchema, eventSchema, type Event } from "../../schemas/pick.ts";

const checkSchema = createValidator<Event>(eventSchema);
const checkRecordSchema = createValidator<EventRecord>(eventRecordSchema);

/** An event, and what is known of the record that carries it. */
export interface DecodedEvent {
  readonly event: Event;
  readonly record: EventRecord;
}

/** Checks what `parseEvent` returned. */
export function checkEvent(json: unknown): ValidationResult<Event> {
  // To a JSON Schema, a LongNumber is an object.
  if (json instanceof LongNumber) return checkSchema(0);
  const content = typeof json === "object" && json !== null && "event" in json ? json.event : undefined;
  const checked = checkSchema(content instanceof LongNumber ? { ...(json as object), event: 0 } : json);
  return checked.ok && !isEvent(checked.value)
    ? { ok: false, faults: [{ path: "", message: describeOther(checked.value) }] }
    : checked;
}

/** Any other object comes from a wrong serializer; without this rule, no topic and nobody would notice. */
const isEvent = ({ "@type": type, eventType, event }: Event): boolean =>
  [type, eventType, event].some((member) => member !== undefined && member !== null);

function describeOther(json: object): string {
  const has = (...names: readonly string[]): boolean => names.every((name) => Object.hasOwn(json, name));
  const cure = has("schema", "payload")
    ? "; it looks like an envelope of Kafka Connect: set value.converter.schemas.enable=false"
    : has("op") && (has("before") || has("after"))
      ? "; it looks like a change event: unwrap it, as Debezium's ExtractNewRecordState does, and send an event"
      : "";
  return `must have one of the members eventType, @type and event${cure}`;
}

/** Reads the data of an event's record from JSON such as `{"$key": "a", "$ce": {"type": "b"}}`. */
export function readEventRecord(json: string): ValidationResult<EventRecord> {
  try {
    return checkRecordSchema(JSON.parse(json));
  } catch {
    return { ok: false, faults: [{ path: "", message: "is not JSON" }] };
  }
}

/** The record of an event, with what the caller says of it. The attributes of its own envelope stay. */
export const addRecord = ({ record }: DecodedEvent, given: EventRecord | undefined): EventRecord => ({
  ...given,
  $ce: record.$ce ?? given?.$ce,
});
