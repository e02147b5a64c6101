import { BSON, type Document } from "mongodb";

/**
 * The part of MongoDB's wire protocol that the proxies need: OP_QUERY and OP_REPLY of handshakes, and OP_MSG.
 */
const opReply = 1;
const opMsg = 2013;
const headBytes = 16;
const flagBytes = 4;
/** OP_REPLY has flags, a cursor and two counts before its documents. */
const replyHeadBytes = headBytes + 20;

export const readLength = (head: Buffer): number | undefined =>
  head.length < 4 ? undefined : head.readInt32LE(0);
export const readRequestId = (message: Buffer): number => message.readInt32LE(4);
export const readResponseTo = (message: Buffer): number => message.readInt32LE(8);
export const isHandshakeReply = (message: Buffer): boolean => message.readInt32LE(12) === opReply;

/** Preserves types when a document is written again: the driver requires a 64-bit cursor id. */
const parse = (bytes: Uint8Array): Document => BSON.deserialize(bytes, { promoteLongs: false });

/** A section of an OP_MSG: the body (kind 0) or a sequence of documents (kind 1). */
interface Section {
  readonly kind: number;
  readonly bytes: Buffer;
}

function readSections(message: Buffer): Section[] {
  const sections: Section[] = [];
  for (let at = headBytes + flagBytes; at < message.length;) {
    const length = message.readInt32LE(at + 1);
    sections.push({ kind: message.readUInt8(at), bytes: message.subarray(at + 1, at + 1 + length) });
    at += 1 + length;
  }
  return sections;
}

/** The body of an OP_MSG, without document sequences; undefined for another message. */
export function readBody(message: Buffer): Document | undefined {
  if (message.readInt32LE(12) !== opMsg) return undefined;
  const body = readSections(message).find(({ kind }) => kind === 0);
  return body === undefined ? undefined : parse(body.bytes);
}

/** The whole command of an OP_MSG, including document sequences. */
export function readCommand(message: Buffer): Document | undefined {
  const body = readBody(message);
  if (body === undefined) return undefined;
  for (const { kind, bytes } of readSections(message)) {
    if (kind !== 1) continue;
    const nameEnd = bytes.indexOf(0, 4);
    const documents: Document[] = [];
    for (let at = nameEnd + 1; at < bytes.length; at += bytes.readInt32LE(at))
      documents.push(parse(bytes.subarray(at, at + bytes.readInt32LE(at))));
    body[bytes.toString("utf8", 4, nameEnd)] = documents;
  }
  return body;
}

/** The same OP_MSG with another body. */
export function withBody(message: Buffer, body: Document): Buffer {
  const beside = readSections(message).filter(({ kind }) => kind !== 0);
  return withLength([
    message.subarray(0, headBytes + flagBytes),
    Buffer.of(0),
    BSON.serialize(body),
    ...beside.flatMap(({ kind, bytes }) => [Buffer.of(kind), bytes]),
  ]);
}

/** An OP_MSG that responds to a request. */
export function createReply(requestId: number, body: Document): Buffer {
  const head = Buffer.alloc(headBytes + flagBytes + 1);
  head.writeInt32LE(requestId, 8);
  head.writeInt32LE(opMsg, 12);
  return withLength([head, BSON.serialize(body)]);
}

/** The same OP_REPLY with another document. */
export function withHandshake(message: Buffer, change: (hello: Document) => Document): Buffer {
  const hello = parse(message.subarray(replyHeadBytes));
  return withLength([message.subarray(0, replyHeadBytes), BSON.serialize(change(hello))]);
}

function withLength(parts: readonly Uint8Array[]): Buffer {
  const message = Buffer.concat(parts);
  message.writeInt32LE(message.length, 0);
  return message;
}
