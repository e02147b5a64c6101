import type { Fault } from "@topicsync/lib/errors";
import type { RecordHeaders } from "@topicsync/kafka";
import { createValidator } from "@topicsync/lib/validation";
import {
  cloudEventSchema,
  contextAttributesSchema,
  type CloudEvent,
  type ContextAttributes,
} from "../../schemas/cloud-event.ts";
import {
  cloudEventType,
  createHeaderRejection,
  createRejection,
  isCloudEvent,
  readJson,
  readHeader,
  toMediaType,
  toMember,
  toText,
  type CloudEventMode,
  type HeaderFault,
  type JsonLocation,
} from "./envelope.ts";

/** The data of a CloudEvent, and its location. */
export interface EventData {
  readonly json: unknown;
  readonly location: JsonLocation;
  /** The attributes of the CloudEvent; undefined without one. */
  readonly attributes?: () => Readonly<Record<string, unknown>>;
}

/** The prefix of headers that are attributes (Kafka binding, section 3.2.3). */
export const attributePrefix = "ce_";

const checkEvent = createValidator<CloudEvent>(cloudEventSchema);
const checkAttributes = createValidator<ContextAttributes>(contextAttributesSchema);

export const describeMode = (mode: CloudEventMode): string => `a CloudEvent (${mode} mode)`;

/** Rejects the formats of structured mode other than the JSON format. */
export function checkFormat(headers: RecordHeaders, location: JsonLocation): void {
  const given = readHeader(headers, "content-type", location) ?? cloudEventType;
  const essence = toMediaType(given);
  if (essence === cloudEventType || essence === `${cloudEventType}+json`) return;
  const reason = essence.startsWith(`${cloudEventType}-batch`)
    ? "announces a batch, which the Kafka binding of CloudEvents does not define; send each event as a record of its own"
    : `announces the format "${given}"; only ${cloudEventType}+json is understood`;
  throw createHeaderRejection(location, "UNDECODABLE", [{ header: "content-type", message: reason }]);
}

/** Checks the attributes in the headers, in binary mode. Throws a RejectionError. */
export function checkHeaders(headers: RecordHeaders, location: JsonLocation): void {
  const checked = checkAttributes(readAttributes(headers, location));
  if (!checked.ok)
    throw createHeaderRejection(location, "SCHEMA_VIOLATION", checked.faults.map(toHeaderFault));
  const fault = findTypeFault(checked.value);
  if (fault !== undefined) throw createHeaderRejection(location, "UNDECODABLE", [toHeaderFault(fault)]);
}

export function readAttributes(headers: RecordHeaders, location: JsonLocation): Record<string, string> {
  const names = headers.map(([name]) => name).filter((name) => name.startsWith(attributePrefix));
  // The content type comes last: it overrides a `ce_datacontenttype`, which the binding does not define.
  return Object.fromEntries(
    [...names, "content-type"].flatMap((name) => {
      const text = readHeader(headers, name, location);
      return text === undefined ? [] : [[toAttributeName(name), text]];
    }),
  );
}

const toAttributeName = (header: string): string =>
  header === "content-type" ? "datacontenttype" : header.slice(attributePrefix.length);

function toHeaderFault({ path, message }: Fault): HeaderFault {
  const attribute = path.slice(1);
  return { header: attribute === "datacontenttype" ? "content-type" : attributePrefix + attribute, message };
}

/** The data of a structured event. Throws a RejectionError. */
export function readEventData(json: unknown, location: JsonLocation): EventData {
  const checked = checkEvent(json);
  if (!checked.ok)
    throw createRejection(location, "SCHEMA_VIOLATION", "is not a valid CloudEvent.", checked.faults);
  const event = checked.value;
  const fault = findTypeFault(event);
  if (fault !== undefined)
    throw createRejection(location, "UNDECODABLE", "carries data that is not JSON.", [fault]);
  const bytes = event.data_base64 ?? undefined;
  const attributes = (): Record<string, unknown> => omitData(event);
  if (bytes !== undefined && event.data !== undefined) {
    throw createRejection(location, "SCHEMA_VIOLATION", "is not a valid CloudEvent.", [
      { path: "/data_base64", message: "must not be combined with data" },
    ]);
  }
  if (bytes !== undefined) {
    const json = readJson(Buffer.from(bytes, "base64"), toMember(location, "/data_base64"));
    return { json, location: toText(location, "/data_base64"), attributes };
  }
  if (event.data === undefined) {
    throw createRejection(
      location,
      "SCHEMA_VIOLATION",
      location.subject === "announcement"
        ? "carries no data; a record without a value retires a topic."
        : "carries no data.",
      [{ path: "/data", message: "is required" }],
    );
  }
  return { json: event.data, location: toMember(location, "/data"), attributes };
}

const omitData = (event: CloudEvent): Record<string, unknown> =>
  Object.fromEntries(Object.entries(event).filter(([name]) => name !== "data" && name !== "data_base64"));

/** A CloudEvent within a CloudEvent is not opened. */
export function rejectNested({ json, location }: EventData): void {
  if (!isCloudEvent(json)) return;
  throw createRejection(location, "SCHEMA_VIOLATION", "carries another CloudEvent; only one is opened.", [
    { path: "/specversion", message: "makes the data another CloudEvent" },
  ]);
}

/** Only JSON is supported: a subtype "json" or "…+json" (JSON format, section 3.1.1), with any parameters. */
function findTypeFault({ datacontenttype: type }: ContextAttributes): Fault | undefined {
  if (type === undefined || type === null) return undefined;
  if (/^[^/\s]+\/(?:[^/\s]+\+)?json$/.test(toMediaType(type))) return undefined;
  return { path: "/datacontenttype", message: `must be a media type of JSON, but is "${type}"` };
}
