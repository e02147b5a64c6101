import { createRequire } from "node:module";

import { registerCodecs } from "../codecs/codecs.ts";
import { decodeBatches } from "../codecs/record-batches.ts";
import type { FetchedMessage } from "./aborted-transactions.ts";
import { loadPrivate } from "./patch.ts";

/** kafkajs' reader of a broker's response. */
interface Decoder {
  offset: number;
  readInt32(): number;
  readBytes(length: number): Buffer;
  canReadBytes(length: number): boolean;
}

type DecodeMessages = (decoder: Decoder) => Promise<readonly FetchedMessage[]>;

/** The byte that names a batch's format, at the same offset in all formats. */
const magicOffset = 16;
const currentMagic = 2;

let maxBytes = 0;
/** kafkajs' own function; undefined before it is replaced. */
let original: DecodeMessages | undefined;

/**
 * Bounds the memory that kafkajs 2.2.4 takes for a fetched batch, in the whole process: it decompresses without a limit, and
 * a batch that it cannot decompress ends the consumer. See docs/decisions/008-bounded-fetches.md.
 */
export function boundFetches(maxBatchBytes: number): void {
  maxBytes = maxBatchBytes;
  registerCodecs(maxBatchBytes);
  if (original !== undefined) return;
  const require = createRequire(import.meta.url);
  const path = require.resolve("kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js");
  original = require(path) as DecodeMessages;
  const module = require.cache[path];
  // kafkajs loads the callers of this module with the first fetch.
  if (module !== undefined) module.exports = withLimit(original);
}

/** Decodes the records of one partition in a fetch response, within the limit. */
export async function decodeFetched(records: Buffer): Promise<readonly FetchedMessage[]> {
  if (records.length <= magicOffset) return [];
  if (records.readInt8(magicOffset) === currentMagic) return decodeBatches(records, maxBytes);
  if (original === undefined) throw new Error("boundFetches was not called");
  // Written before Kafka 0.11.
  const length = Buffer.alloc(4);
  length.writeInt32BE(records.length);
  const DecoderClass = loadPrivate("protocol/decoder.js") as new (bytes: Buffer) => Decoder;
  return original(new DecoderClass(Buffer.concat([length, records])));
}

const withLimit =
  (original: DecodeMessages): DecodeMessages =>
  async (decoder) => {
    const start = decoder.offset;
    const length = decoder.readInt32();
    if (length <= magicOffset || !decoder.canReadBytes(length)) {
      decoder.offset = start;
      return original(decoder);
    }
    const bytes = decoder.readBytes(length);
    if (bytes.readInt8(magicOffset) === currentMagic) return decodeBatches(bytes, maxBytes);
    // Written before Kafka 0.11.
    decoder.offset = start;
    return original(decoder);
  };
