import { createRequire } from "node:module";

import { registerCodecs } from "../codecs/codecs.ts";
import { decodeBatches } from "../codecs/record-batches.ts";

/** kafkajs' reader of an answer of the broker. */
interface Decoder {
  offset: number;
  readInt32(): number;
  readBytes(length: number): Buffer;
  canReadBytes(length: number): boolean;
}

type DecodeMessages = (decoder: Decoder) => Promise<readonly object[]>;

/** Where a batch says its format, the same in all of them. */
const magicAt = 16;
const currentMagic = 2;

let maxBytes = 0;
let isReplaced = false;

/**
 * Bounds what kafkajs 2.2.4 makes of a fetched batch of records, in this whole process: it decompresses without a limit,
 * and what it cannot decompress ends the consumer. See docs/decisions/008-bounded-fetches.md.
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
  // What reads it is loaded with the first fetch.
  if (module !== undefined) module.exports = boundedBy(original);
}

const boundedBy =
  (original: DecodeMessages): DecodeMessages =>
  async (decoder) => {
    const start = decoder.offset;
    const length = decoder.readInt32();
    if (length <= magicAt || !decoder.canReadBytes(length)) {
      decoder.offset = start;
      return original(decoder);
    }
    const bytes = decoder.readBytes(length);
    if (bytes.readInt8(magicAt) === currentMagic) return decodeBatches(bytes, maxBytes);
    // Written before Kafka 0.11.
    decoder.offset = start;
    return original(decoder);
  };
