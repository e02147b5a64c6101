import { eventRecordSchema, eventSchema, type Event } from "../../schemas/pick.ts";
import type { ValidationResult } from "../lib/validation.ts";
import { createValidator } from "../lib/validation.ts";
import { LongNumber } from "./filter/numbers.ts";
import type { EventRecord } from "./filter/record.ts";

const checkSchema = createValidator<Event>(eventSchema);
const checkRecordSchema = createValidator<EventRecord>(eventRecordSchema);

/** Checks an event that `parseEvent` returned. */
export function checkEvent(json: unknown): ValidationResult<Event> {
  // To a JSON Schema, a LongNumber is an object.
  if (json instanceof LongNumber) return checkSchema(0);
  const content = typeof json === "object" && json !== null && "event" in json ? json.event : undefined;
  return checkSchema(content instanceof LongNumber ? { ...(json as object), event: 0 } : json);
}

/** Reads the data of an event's record from JSON such as `{"$key": "a", "$ce": {"type": "b"}}`. */
export function readEventRecord(json: string): ValidationResult<EventRecord> {
  try {
    return checkRecordSchema(JSON.parse(json));
  } catch {
    return { ok: false, faults: [{ path: "", message: "is not JSON" }] };
  }
}
