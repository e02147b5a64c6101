import {
  cloudEventSchema,
  contextAttributesSchema,
  type CloudEvent,
  type ContextAttributes,
} from "../../../schemas/cloud-event.ts";
import type { Fault } from "../../../src/lib/errors.ts";
import type { RecordHeaders } from "../../../src/sync/records.ts";
import { createValidator } from "../../../src/lib/validation.ts";
import { headerRefusal, headerText, peekHeader, type HeaderFault } from "./headers.ts";
import { isObject, jsonIn } from "./json.ts";
import { member, inText, createRefusal, type JsonLocation } from "./place.ts";

/** Where an event's attributes stand: in the value with the data, or in headers (Kafka binding 1.0, section 1.3). */
export type Mode = "structured" | "binary";

/** The data of a CloudEvent, and where it stands. */
export interface EventData {
  readonly json: unknown;
  readonly place: JsonLocation;
}

const mediaType = "application/cloudevents";
/** Of the headers that are attributes (Kafka binding, section 3.2.3). */
export const prefix = "ce_";

const checkEvent = createValidator<CloudEvent>(cloudEventSchema);
const checkAttributes = createValidator<ContextAttributes>(contextAttributesSchema);

export const describeMode = (mode: Mode): string => `a CloudEvent (${mode} mode)`;

/**
 * The mode that the headers tell; undefined when they tell none. The content type goes first: in structured mode the
 * attributes may stand in headers as well (Kafka binding, sections 3 and 3.3.3).
 */
export function getMode(headers: RecordHeaders): Mode | undefined {
  if (headers["content-type"] !== undefined && isEventType(peekHeader(headers, "content-type")))
    return "structured";
  if (headers["ce_specversion"] !== undefined && peekHeader(headers, "ce_specversion") !== undefined)
    return "binary";
  return undefined;
}

const isEventType = (contentType = ""): boolean => essenceOf(contentType).startsWith(mediaType);

/** Refuses the formats of structured mode other than the JSON format. */
export function checkFormat(headers: RecordHeaders, place: JsonLocation): void {
  const given = headerText(headers, "content-type", place) ?? mediaType;
  const essence = essenceOf(given);
  if (essence === mediaType || essence === `${mediaType}+json`) return;
  const reason = essence.startsWith(`${mediaType}-batch`)
    ? "announces a batch, which Kafka's binding of CloudEvents does not know; send each event as a record of its own"
    : `announces the format "${given}"; only ${mediaType}+json is understood`;
  throw headerRefusal(place, "UNDECODABLE", [{ header: "content-type", message: reason }]);
}

/** Checks the attributes that stand in headers, in binary mode. Throws a RefusalError. */
export function checkHeaders(headers: RecordHeaders, place: JsonLocation): void {
  const checked = checkAttributes(attributesIn(headers, place));
  if (!checked.ok) throw headerRefusal(place, "SCHEMA_VIOLATION", checked.faults.map(headerFault));
  const fault = typeFault(checked.value);
  if (fault !== undefined) throw headerRefusal(place, "UNDECODABLE", [headerFault(fault)]);
}

function attributesIn(headers: RecordHeaders, place: JsonLocation): Record<string, string> {
  const names = Object.keys(headers).filter((name) => name.startsWith(prefix));
  // The content type comes last: it stands for a `ce_datacontenttype`, which the binding does not know.
  return Object.fromEntries(
    [...names, "content-type"].flatMap((name) => {
      const text = headerText(headers, name, place);
      return text === undefined ? [] : [[attributeOf(name), text]];
    }),
  );
}

const attributeOf = (header: string): string =>
  header === "content-type" ? "datacontenttype" : header.slice(prefix.length);

function headerFault({ path, message }: Fault): HeaderFault {
  const attribute = path.slice(1);
  return { header: attribute === "datacontenttype" ? "content-type" : prefix + attribute, message };
}

/** The data of a structured event. Throws a RefusalError. */
export function getEventData(json: unknown, place: JsonLocation): EventData {
  const checked = checkEvent(json);
  if (!checked.ok) throw createRefusal(place, "SCHEMA_VIOLATION", "is no valid CloudEvent.", checked.faults);
  const event = checked.value;
  const fault = typeFault(event);
  if (fault !== undefined)
    throw createRefusal(place, "UNDECODABLE", "carries something else than JSON.", [fault]);
  const bytes = event.data_base64 ?? undefined;
  if (bytes !== undefined && event.data !== undefined) {
    throw createRefusal(place, "SCHEMA_VIOLATION", "is no valid CloudEvent.", [
      { path: "/data_base64", message: "must not stand beside data" },
    ]);
  }
  if (bytes !== undefined) {
    const json = jsonIn(Buffer.from(bytes, "base64"), member(place, "/data_base64"));
    return { json, place: inText(place, "/data_base64") };
  }
  if (event.data === undefined) {
    throw createRefusal(
      place,
      "SCHEMA_VIOLATION",
      "carries no data; a record without a value retires a topic.",
      [{ path: "/data", message: "is required" }],
    );
  }
  return { json: event.data, place: member(place, "/data") };
}

export const isCloudEvent = (json: unknown): boolean => isObject(json) && json["specversion"] !== undefined;

/** Envelopes of one kind are not put into each other. */
export function refuseNested({ json, place }: EventData): void {
  if (!isCloudEvent(json)) return;
  throw createRefusal(place, "SCHEMA_VIOLATION", "carries another CloudEvent; only one is opened.", [
    { path: "/specversion", message: "makes the data a CloudEvent, where a topic is expected" },
  ]);
}

/** Only JSON is understood: a subtype "json" or "…+json" (JSON format, section 3.1.1), whatever the parameters are. */
function typeFault({ datacontenttype: type }: ContextAttributes): Fault | undefined {
  if (type === undefined || type === null) return undefined;
  if (/^[^/\s]+\/(?:[^/\s]+\+)?json$/.test(essenceOf(type))) return undefined;
  return { path: "/datacontenttype", message: `must be a media type of JSON, but is "${type}"` };
}

/** A media type without its parameters. */
const essenceOf = (contentType: string): string => (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
