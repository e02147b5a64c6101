import { isUtf8 } from "node:buffer";

import {
  getErrorMessage,
  RejectionError,
  formatFaults,
  type Fault,
  type RejectionCode,
} from "@topicsync/lib/errors";
import { parseStrictJson } from "@topicsync/lib/json";
import { parseEvent } from "@topicsync/filters";
import { getHeader, getHeaderText, type RecordHeaders } from "@topicsync/kafka";

/**
 * What the envelopes share: how a record says which envelope it has, how its JSON and its headers are read,
 * and how a rejection says where the fault is.
 */

/**
 * Where an event's attributes are: in the value with the data, or in headers (Kafka binding of CloudEvents
 * 1.0, section 1.3).
 */
export type CloudEventMode = "structured" | "binary";

/** The media type of a CloudEvent, also with a suffix: `+json`, `-batch+json`. */
export const cloudEventType = "application/cloudevents";

/** Confluent's framing begins with byte 0, as no JSON and no external id does. */
export const isFramed = (bytes: Buffer): boolean => bytes[0] === 0;

/**
 * The mode that the headers name; undefined when they name none. The content type goes first: in structured
 * mode the attributes may be in headers as well (Kafka binding, sections 3 and 3.3.3).
 */
export function getCloudEventMode(headers: RecordHeaders): CloudEventMode | undefined {
  const contentType = getHeaderText(headers, "content-type");
  if (contentType !== undefined && toMediaType(contentType).startsWith(cloudEventType)) return "structured";
  return getHeader(headers, "ce_specversion") === undefined ? undefined : "binary";
}

export const isCloudEvent = (json: unknown): boolean => isObject(json) && json["specversion"] !== undefined;

/** A content type without its parameters. */
export const toMediaType = (contentType: string): string =>
  (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the JSON value that bytes hold. Throws a RejectionError. */
export function readJson(bytes: Buffer, location: JsonLocation): unknown {
  if (!isUtf8(bytes)) throw createParseRejection(location, "UNDECODABLE", "is not UTF-8 text");
  try {
    return parseJson(bytes.toString("utf8"), location.subject);
  } catch (error) {
    throw createParseRejection(location, "MALFORMED_JSON", `is not JSON: ${getErrorMessage(error)}`);
  }
}

/** Announcements follow the rules of HTTP bodies. Events belong to others and are forwarded as they are. */
export const parseJson = (text: string, subject: Subject): unknown =>
  subject === "event" ? parseEvent(text) : parseStrictJson(text);

/** A fault of the whole value needs no path. */
const createParseRejection = (
  location: JsonLocation,
  code: RejectionCode,
  message: string,
): RejectionError =>
  location.pointer === ""
    ? createRejection(location, code, `${message}.`)
    : createRejection(location, code, "cannot be read.", [{ path: "", message }]);

/** One fault of a header. */
export interface HeaderFault {
  readonly header: string;
  readonly message: string;
}

/** A header's text; undefined when there is none. Throws a RejectionError when it is not UTF-8. */
export function readHeader(headers: RecordHeaders, name: string, location: JsonLocation): string | undefined {
  const value = getHeader(headers, name);
  if (Buffer.isBuffer(value) && !isUtf8(value))
    throw createHeaderRejection(location, "UNDECODABLE", [{ header: name, message: "is not UTF-8 text" }]);
  return value?.toString();
}

/** No JSON Pointer leads to a header, so the message names it. */
export function createHeaderRejection(
  location: JsonLocation,
  code: RejectionCode,
  faults: readonly HeaderFault[],
): RejectionError {
  const messages = faults.map(({ header, message }) => `the header ${header} ${message}`);
  return new RejectionError(
    code,
    toSentenceAt(location, `cannot be used: ${messages.join("; ")}.`),
    messages.map((message) => ({ path: "", message })),
  );
}

/** What a record is meant to be. */
export type Subject = "announcement" | "event" | "report";

/** A location in a record, and the form in which the record was read: a rejection names both. */
export interface JsonLocation {
  /** What the record is read as. */
  readonly subject: Subject;
  /** Such as "a CloudEvent (structured mode)"; undefined for a plain definition. */
  readonly form: string | undefined;
  /** JSON Pointer from the root of the record's value. */
  readonly pointer: string;
  /**
   * The pointer inside a text that holds JSON itself, which no pointer from the root can enter; `pointer`
   * leads to the text. Undefined elsewhere.
   */
  readonly inner: string | undefined;
}

/** The root of a value without an envelope. */
export const createRoot = (subject: Subject): JsonLocation => ({
  subject,
  form: undefined,
  pointer: "",
  inner: undefined,
});

/**
 * The same location, once it is known to be `form`: "a TMF688 notification in a CloudEvent (binary mode)".
 */
export const readAs = (form: string, location: JsonLocation): JsonLocation => ({
  ...location,
  form: location.form === undefined ? form : `${form} in ${location.form}`,
});

/** The location that a JSON Pointer leads to from another one. */
export const toMember = (location: JsonLocation, pointer: string): JsonLocation =>
  location.inner === undefined
    ? { ...location, pointer: location.pointer + pointer }
    : { ...location, inner: location.inner + pointer };

/** The location of a text that holds JSON. */
export const toText = (location: JsonLocation, pointer: string): JsonLocation => ({
  ...toMember(location, pointer),
  inner: "",
});

/** `predicate` says what is wrong with the record; the faults' paths begin at the location. */
export function createRejection(
  location: JsonLocation,
  code: RejectionCode,
  predicate: string,
  faults: readonly Fault[] = [],
): RejectionError {
  const found = faults.map((fault) => locateFault(fault, location));
  const sentences = faults.length === 0 ? "" : ` ${formatFaults(found, "The value")}`;
  return new RejectionError(code, toSentenceAt(location, predicate) + sentences, found);
}

/** Why a record cannot be read, given what reading it has thrown. */
export const toRejection = (error: unknown, subject: Subject): RejectionError =>
  error instanceof RejectionError
    ? error
    : new RejectionError("UNDECODABLE", `The ${subject} cannot be read: ${getErrorMessage(error)}`);

/** What is wrong, with the record as its subject. */
const toSentenceAt = ({ subject, form }: JsonLocation, predicate: string): string =>
  form === undefined ? `The ${subject} ${predicate}` : `The ${subject} was read as ${form}: it ${predicate}`;

const locateFault = ({ path, message }: Fault, { pointer, inner }: JsonLocation): Fault =>
  inner === undefined
    ? { path: pointer + path, message }
    : { path: pointer, message: `holds JSON in which ${inner + path || "the whole"} ${message}` };
