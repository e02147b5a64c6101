/** Requests and responses as they are on a connection: a length, a header and a body. */
import { int16, int32, nullableString, Reader, skipTags, unsignedVarint, Writer } from "./format.ts";
import { messages, type MessageName, type Request, type Response } from "./messages.ts";

/** A request of any kind. */
export interface Frame {
  readonly name: MessageName;
  readonly correlationId: number;
  readonly clientId: string;
  /** As the request's schema reads it. */
  readonly body: unknown;
}

const names = new Map<number, MessageName>(
  (Object.keys(messages) as MessageName[]).map((name) => [toIndex(messages[name]), name]),
);

function toIndex({ key, version }: { readonly key: number; readonly version: number }): number {
  return key * 1_000 + version;
}

/**
 * Reads a request without its length. Throws for one that this broker does not offer, and for one with bytes
 * left over.
 */
export function readRequest(frame: Buffer): Frame {
  const reader = new Reader(frame);
  const key = int16.read(reader);
  const version = int16.read(reader);
  const correlationId = int32.read(reader);
  const clientId = nullableString.read(reader) ?? "";
  const name = names.get(toIndex({ key, version }));
  if (name === undefined) throw new Error(`unexpected request: key ${key}, version ${version}`);
  const { isFlexible, request } = messages[name];
  if (isFlexible) skipTags(reader);
  const body = request.read(reader);
  if (reader.at !== frame.length) throw new Error(`${name}: ${frame.length - reader.at} bytes were not read`);
  return { name, correlationId, clientId, body };
}

/** Writes a response with its length. */
export function writeResponse<Name extends MessageName>(
  name: Name,
  correlationId: number,
  body: Response<Name>,
): Buffer {
  const { isFlexible, response } = messages[name];
  const writer = new Writer();
  const lengthAt = writer.take(4);
  int32.write(writer, correlationId);
  if (isFlexible) unsignedVarint.write(writer, 0);
  response.write(writer, body as never);
  const frame = writer.finish();
  frame.writeInt32BE(frame.length - 4, lengthAt);
  return frame;
}

/** Writes a request with its length, as a client does. */
export function writeRequest<Name extends MessageName>(
  name: Name,
  correlationId: number,
  body: Request<Name>,
): Buffer {
  const { key, version, isFlexible, request } = messages[name];
  const writer = new Writer();
  const lengthAt = writer.take(4);
  int16.write(writer, key);
  int16.write(writer, version);
  int32.write(writer, correlationId);
  nullableString.write(writer, "conformance");
  if (isFlexible) unsignedVarint.write(writer, 0);
  request.write(writer, body as never);
  const frame = writer.finish();
  frame.writeInt32BE(frame.length - 4, lengthAt);
  return frame;
}

/** Reads a response without its length. Throws for one with bytes left over. */
export function readResponse<Name extends MessageName>(name: Name, frame: Buffer): Response<Name> {
  const { isFlexible, response } = messages[name];
  const reader = new Reader(frame);
  int32.read(reader);
  if (isFlexible) skipTags(reader);
  const body = response.read(reader);
  if (reader.at !== frame.length) throw new Error(`${name}: ${frame.length - reader.at} bytes were not read`);
  return body as Response<Name>;
}

/** Splits what arrives on a connection into frames, without their lengths. */
export function createFrameSplitter(): (bytes: Buffer) => Buffer[] {
  let buffered: Buffer = Buffer.alloc(0);
  return (bytes) => {
    buffered = buffered.length === 0 ? bytes : Buffer.concat([buffered, bytes]);
    const frames: Buffer[] = [];
    while (buffered.length >= 4) {
      const end = 4 + buffered.readInt32BE(0);
      if (buffered.length < end) break;
      frames.push(buffered.subarray(4, end));
      buffered = buffered.subarray(end);
    }
    return frames;
  };
}
