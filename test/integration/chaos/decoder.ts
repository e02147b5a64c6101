import type { TopicDefinition } from "../../../src/topics/topic.ts";
import type { ModelAnnouncement } from "../../unit/topics/model.ts";

/** A record as stored in Kafka. */
export interface RawRecord {
  readonly offset: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

type Code =
  | "UNDECODABLE"
  | "MALFORMED_JSON"
  | "SCHEMA_VIOLATION"
  | "BAD_FILTER"
  | "TOO_LARGE"
  | "MISSING_KEY"
  | "KEY_MISMATCH";

class UnusableRecordError extends Error {
  readonly code: Code;

  constructor(code: Code) {
    super(code);
    this.name = "UnusableRecordError";
    this.code = code;
  }
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Implements section 4 of the contract independently of the consumer. Returns what a record announces, or the
 * code of its rejection.
 */
export function decodeForModel(record: RawRecord): ModelAnnouncement {
  const { offset } = record;
  try {
    return decode(record);
  } catch (error) {
    if (error instanceof UnusableRecordError)
      return { kind: "unusable", offset, rejection: { code: error.code } };
    throw error;
  }
}

function decode(record: RawRecord): ModelAnnouncement {
  const { value, offset } = record;
  if (value === null) return { kind: "retire", offset, externalId: decodeKey(record) ?? fail("MISSING_KEY") };
  if (value.length > 102_400) fail("TOO_LARGE");
  const content = openEnvelopes(value, record.headers);
  const decoded =
    isObject(content) && "eventType" in content ? readNotification(content) : readDefinition(content);
  const externalId = decoded.kind === "define" ? decoded.definition.externalId : decoded.externalId;
  const key = decodeKey(record);
  if (key !== undefined && key !== externalId) fail("KEY_MISMATCH");
  if (decoded.kind === "define" && !hasValidFilters(decoded.definition)) fail("BAD_FILTER");
  return { ...decoded, offset };
}

const removeByteOrderMark = (text: string): string => text.replace(/^\ufeff/u, "");

function openEnvelopes(value: Buffer, headers: RawRecord["headers"]): unknown {
  // Framed values may also be Avro or Protobuf, so invalid JSON there means another encoding.
  const jsonErrorCode = value[0] === 0 ? "UNDECODABLE" : "MALFORMED_JSON";
  const isBinary = "ce_specversion" in headers;
  if (isBinary && !isJsonType(headers["content-type"])) fail("UNDECODABLE");
  const whole = parseJson(removeByteOrderMark(decodeText(removeFrame(value))), jsonErrorCode);
  return isBinary ? whole : readCloudEvent(whole, headers["content-type"]);
}

/** Returns the event of a record, or the code of its rejection. */
export function decodeEventForModel({
  value,
  headers,
}: Pick<RawRecord, "value" | "headers">): { readonly event: Members } | { readonly code: string } {
  try {
    const event = value === null ? fail("UNDECODABLE") : openEnvelopes(value, headers);
    if (!isObject(event)) return fail("SCHEMA_VIOLATION");
    // Null means that a member is missing.
    const given = new Map(Object.entries(event).filter(([, member]) => member !== null));
    const texts = ["eventId", "@type", "eventType"].filter((name) => given.has(name));
    const isValid =
      texts.every((name) => typeof given.get(name) === "string") &&
      (!given.has("event") || isObject(given.get("event"))) &&
      ["@type", "eventType", "event"].some((name) => given.has(name));
    if (!isValid) fail("SCHEMA_VIOLATION");
    return { event };
  } catch (error) {
    if (error instanceof UnusableRecordError) return { code: error.code };
    throw error;
  }
}

type Decoded =
  | Omit<Extract<ModelAnnouncement, { kind: "define" }>, "offset">
  | Omit<Extract<ModelAnnouncement, { kind: "retire" }>, "offset">;

function readCloudEvent(whole: unknown, contentType: string | undefined): unknown {
  const isCloudEvent = contentType === "application/cloudevents+json";
  if (!isObject(whole) || !(isCloudEvent || "specversion" in whole)) return whole;
  if (!isJsonType(whole["datacontenttype"])) fail("UNDECODABLE");
  if (typeof whole["data_base64"] === "string")
    return parseJson(decodeText(Buffer.from(whole["data_base64"], "base64")));
  return "data" in whole ? whole["data"] : fail("SCHEMA_VIOLATION");
}

const validCondition = /^@?\w+(\.\w+)*(=|!=|>=?|<=?)[^&,=!<>;]+(,[^&,=!<>;]+)*$/;

/** Supports as much of the filter language as the chaos test announces. */
const hasValidFilters = ({ headerQuery, contentQuery }: TopicDefinition): boolean =>
  [headerQuery, contentQuery].every(
    (filter) => filter === "" || filter.split("&").every((part) => validCondition.test(part)),
  );

function readNotification({ eventType, event }: Members): Decoded {
  const topic = isObject(event) ? event["topic"] : undefined;
  if (!isObject(topic)) fail("SCHEMA_VIOLATION");
  const { id, externalId = id, name, namespace, headerQuery, contentQuery } = topic;
  if (eventType === "TopicDeleteEvent") {
    return isText(externalId) && externalId !== ""
      ? { kind: "retire", externalId }
      : fail("SCHEMA_VIOLATION");
  }
  if (eventType !== "TopicCreateEvent" && eventType !== "TopicAttributeValueChangeEvent")
    fail("SCHEMA_VIOLATION");
  return readDefinition({ externalId, name, namespace, headerQuery, contentQuery });
}

const required = ["externalId", "name"];
const optional = ["namespace", "headerQuery", "contentQuery"];

function readDefinition(value: unknown): Decoded {
  if (!isObject(value)) fail("SCHEMA_VIOLATION");
  if (Object.keys(value).some((name) => !required.includes(name) && !optional.includes(name)))
    fail("SCHEMA_VIOLATION");
  const readMember = (name: string): string => {
    const found = value[name] ?? (required.includes(name) ? fail("SCHEMA_VIOLATION") : "");
    if (!isText(found) || (found === "" && required.includes(name))) fail("SCHEMA_VIOLATION");
    return found;
  };
  const definition = {
    externalId: readMember("externalId"),
    name: readMember("name"),
    namespace: readMember("namespace"),
    headerQuery: readMember("headerQuery"),
    contentQuery: readMember("contentQuery"),
  };
  return { kind: "define", definition };
}

function decodeKey({ key }: RawRecord): string | undefined {
  if (key === null) return undefined;
  if (key[0] !== 0) return decodeText(key);
  const named = parseJson(decodeText(removeFrame(key)), "UNDECODABLE");
  return isText(named) ? named : fail("UNDECODABLE");
}

/** Removes Confluent's five-byte frame, if present. */
function removeFrame(bytes: Buffer): Buffer {
  if (bytes[0] !== 0) return bytes;
  return bytes.length < 5 ? fail("UNDECODABLE") : bytes.subarray(5);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return fail("UNDECODABLE");
  }
}

function parseJson(json: string, otherwise: Code = "MALFORMED_JSON"): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return fail(otherwise);
  }
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Excludes lone surrogates and NUL. */
const isText = (value: unknown): value is string =>
  typeof value === "string" && !/\0|[\ud800-\udfff]/u.test(value);

const isJsonType = (type: unknown): boolean =>
  type === undefined || (typeof type === "string" && /^[^;]*[/+]json\b/.test(type));

function fail(code: Code): never {
  throw new UnusableRecordError(code);
}
