import { isUtf8 } from "node:buffer";

import { RejectionError } from "@topicsync/lib/errors";
import { JsonStructureError } from "@topicsync/lib/json";
import { createRejection, parseJson, readAs, type JsonLocation } from "./envelope.ts";

/**
 * Confluent's wire format: byte 0, the schema's id in the registry (four bytes, big-endian), then what the
 * schema describes. No JSON and no external id begins with byte 0, so the first byte decides.
 */
const frameBytes = 5;

/** What follows a frame. */
interface Framed {
  readonly schemaId: number;
  readonly rest: Buffer;
}

/** Takes the frame off. Throws a RejectionError when it is cut short. */
export function unframe(bytes: Buffer, what: "key" | "value"): Framed {
  if (bytes.length < frameBytes) {
    throw new RejectionError(
      "UNDECODABLE",
      `The record's ${what} begins with byte 0, as Confluent's framing does, but ends before the frame: ` +
        `it has ${bytes.length} of ${frameBytes} bytes.`,
    );
  }
  return { schemaId: bytes.readUInt32BE(1), rest: bytes.subarray(frameBytes) };
}

export const toFramedLocation = ({ schemaId }: Framed, root: JsonLocation): JsonLocation =>
  readAs(`a Confluent-framed value (schema id ${schemaId})`, root);

/** Returns the JSON in a framed value. Throws a RejectionError, also for other formats, such as Avro. */
export function readFramedJson({ schemaId, rest }: Framed, location: JsonLocation): unknown {
  try {
    if (isUtf8(rest)) return parseJson(rest.toString("utf8"), location.subject);
  } catch (error) {
    if (error instanceof JsonStructureError)
      throw createRejection(location, "MALFORMED_JSON", `is not valid JSON: ${error.message}.`);
  }
  throw createRejection(
    location,
    "UNDECODABLE",
    `contains no JSON after the frame of schema id ${schemaId}; only JSON is supported, neither Avro nor Protobuf.`,
  );
}

/** The text of a framed key. Throws a RejectionError. */
export function readFramedKey({ schemaId, rest }: Framed): string {
  const json = tryParseJson(rest);
  // A lone surrogate would be stored as another text.
  if (typeof json === "string" && json.isWellFormed()) return json;
  throw new RejectionError(
    "UNDECODABLE",
    `The record's key is Confluent-framed (schema id ${schemaId}), but no JSON string follows the frame; ` +
      "only JSON is supported, neither Avro nor Protobuf.",
  );
}

/** Returns undefined if the bytes are not JSON. */
function tryParseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
