import type { TopicDefinition } from "../../../src/topics/topic.ts";
import type { ModelAnnouncement } from "../../unit/topics/model.ts";

/** A record as it lies in Kafka. */
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

class Unusable extends Error {
  readonly code: Code;

  constructor(code: Code) {
    super(code);
    this.code = code;
  }
}

type Members = Readonly<Record<string, unknown>>;

/** The contract's section 4 once more, sharing no code with the consumer: what a record says, or its refusal's code. */
export function decodeForModel(record: RawRecord): ModelAnnouncement {
  const { offset } = record;
  try {
    return read(record);
  } catch (error) {
    if (error instanceof Unusable) return { kind: "unusable", offset, refusal: { code: error.code } };
    throw error;
  }
}

function read(record: RawRecord): ModelAnnouncement {
  const { value, offset } = record;
  if (value === null) return { kind: "retire", offset, externalId: keyOf(record) ?? fail("MISSING_KEY") };
  if (value.length > 102_400) fail("TOO_LARGE");
  // Behind a frame there could be Avro or Protobuf as well: what is no JSON there is another encoding.
  const noJson = value[0] === 0 ? "UNDECODABLE" : "MALFORMED_JSON";
  const isBinary = "ce_specversion" in record.headers;
  if (isBinary && !isJsonType(record.headers["content-type"])) fail("UNDECODABLE");
  const whole = parsed(text(unframed(value)), noJson);
  const content = isBinary ? whole : inCloudEvent(whole, record.headers["content-type"]);
  const said = isObject(content) && "eventType" in content ? inNotification(content) : asDefinition(content);
  const externalId = said.kind === "define" ? said.definition.externalId : said.externalId;
  const key = keyOf(record);
  if (key !== undefined && key !== externalId) fail("KEY_MISMATCH");
  if (said.kind === "define" && !filtersAreSound(said.definition)) fail("BAD_FILTER");
  return { ...said, offset };
}

/** The same, before it is known of which offset. */
type Said =
  | Omit<Extract<ModelAnnouncement, { kind: "define" }>, "offset">
  | Omit<Extract<ModelAnnouncement, { kind: "retire" }>, "offset">;

function inCloudEvent(whole: unknown, contentType: string | undefined): unknown {
  const isCloudEvent = contentType === "application/cloudevents+json";
  if (!isObject(whole) || !(isCloudEvent || "specversion" in whole)) return whole;
  if (!isJsonType(whole["datacontenttype"])) fail("UNDECODABLE");
  if (typeof whole["data_base64"] === "string")
    return parsed(text(Buffer.from(whole["data_base64"], "base64")));
  return "data" in whole ? whole["data"] : fail("SCHEMA_VIOLATION");
}

/** Enough of the filter language for what the chaos test announces. */
const filtersAreSound = ({ headerQuery, contentQuery }: TopicDefinition): boolean =>
  [headerQuery, contentQuery].every(
    (filter) => filter === "" || filter.split("&").every((part) => /^\w+(\.\w+)*=\w+(,\w+)*$/.test(part)),
  );

function inNotification({ eventType, event }: Members): Said {
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
  return asDefinition({ externalId, name, namespace, headerQuery, contentQuery });
}

const required = ["externalId", "name"];
const optional = ["namespace", "headerQuery", "contentQuery"];

function asDefinition(value: unknown): Said {
  if (!isObject(value)) fail("SCHEMA_VIOLATION");
  if (Object.keys(value).some((name) => !required.includes(name) && !optional.includes(name)))
    fail("SCHEMA_VIOLATION");
  const member = (name: string): string => {
    const found = value[name] ?? (required.includes(name) ? fail("SCHEMA_VIOLATION") : "");
    if (!isText(found) || (found === "" && required.includes(name))) fail("SCHEMA_VIOLATION");
    return found;
  };
  const definition = {
    externalId: member("externalId"),
    name: member("name"),
    namespace: member("namespace"),
    headerQuery: member("headerQuery"),
    contentQuery: member("contentQuery"),
  };
  return { kind: "define", definition };
}

function keyOf({ key }: RawRecord): string | undefined {
  if (key === null) return undefined;
  if (key[0] !== 0) return text(key);
  const named = parsed(text(unframed(key)), "UNDECODABLE");
  return isText(named) ? named : fail("UNDECODABLE");
}

/** Without Confluent's five bytes, where they are. */
function unframed(bytes: Buffer): Buffer {
  if (bytes[0] !== 0) return bytes;
  return bytes.length < 5 ? fail("UNDECODABLE") : bytes.subarray(5);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function text(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return fail("UNDECODABLE");
  }
}

function parsed(json: string, otherwise: Code = "MALFORMED_JSON"): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return fail(otherwise);
  }
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Unicode without lone surrogates and NUL. */
const isText = (value: unknown): value is string =>
  typeof value === "string" && !/\0|[\ud800-\udfff]/u.test(value);

const isJsonType = (type: unknown): boolean =>
  type === undefined || (typeof type === "string" && /^[^;]*[/+]json\b/.test(type));

function fail(code: Code): never {
  throw new Unusable(code);
}
