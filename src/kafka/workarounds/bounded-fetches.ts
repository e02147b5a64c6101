import { createRequire } from "node:module";

import { registerCodecs } from "../codecs/codecs.ts";
import { decodeBatches } from "../codecs/record-batches.ts";

/** kafkajs' reader of a broker's response. */
interface Decoder {
  offset: number;
  readInt32(): number;
  readBytes(length: number): Buffer;
  canReadBytes(length: number): boolean;
}

type DecodeMessages = (decoder: Decoder) => Promise<readonly object[]>;

/** The byte that names a batch's format, at the same offset in all formats. */
const magicOffset = 16;
const currentMagic = 2;

let maxBytes = 0;
let isReplaced = false;

/**
 * Bounds the memory that kafkajs 2.2.4 takes for a fetched batch, in the whole process: it decompresses without a limit, and
 * a batch that it cannot decompress ends the consumer. See docs/decisions/008-bounded-fetches.md.
 */
export function boundFetches(maxBatchBytes: number): void {
  maxBytes = maxBatchBytes;
  registerCodecs(maxBatchBytes);
  if (isReplaced) return;
  isReplaced = true;
  const require = createRequire(import.meta.url);
  const path = require.resolve("kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js");
  const original = require(path) as DecodeMessages;
  const module = require.cache[path];
  // kafkajs loads the callers of this module with the first fetch.
  if (module !== undefined) module.exports = withLimit(original);
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
