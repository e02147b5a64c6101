/**
 * Fault of kafkajs 2.2.4, protocol/requests/fetch/v4/decodeMessages.js:27: it decompresses batches without a
 * limit, and a batch that it cannot decompress ends the consumer. See docs/decisions/008-bounded-fetches.md.
 * The test in test/workarounds/bounded-fetches.test.ts fails when kafkajs no longer needs this.
 */

import { magic, magicOffset } from "../record-format/batch-header.ts";
import { decodeBatches } from "../record-format/batch-reader.ts";
import { registerCodecs } from "../record-format/codecs.ts";
import type { FetchedMessage } from "./aborted-transactions.ts";
import { loadPrivate, replaceModule } from "./patch.ts";

/** kafkajs' reader of a broker's response. */
interface Decoder {
  offset: number;
  readInt32(): number;
  readBytes(length: number): Buffer;
  canReadBytes(length: number): boolean;
}

type DecodeMessages = (decoder: Decoder) => Promise<readonly FetchedMessage[]>;

let maxBytes = 0;
/** kafkajs' own function; undefined before it is replaced. */
let original: DecodeMessages | undefined;

/** Bounds the memory that kafkajs takes for a fetched batch, in the whole process. */
export function boundFetches(maxBatchBytes: number): void {
  maxBytes = maxBatchBytes;
  registerCodecs(maxBatchBytes);
  // kafkajs loads the callers of this module with the first fetch.
  replaceModule<DecodeMessages>("protocol/requests/fetch/v4/decodeMessages.js", (decodeMessages) => {
    original = decodeMessages;
    return withLimit(decodeMessages);
  });
}

/** Decodes the records of one partition in a fetch response, within the limit. */
export async function decodeFetched(records: Buffer): Promise<readonly FetchedMessage[]> {
  if (records.length <= magicOffset) return [];
  if (records.readInt8(magicOffset) === magic) return decodeBatches(records, maxBytes);
  if (original === undefined) throw new Error("boundFetches was not called");
  // The records were written before Kafka 0.11.
  const length = Buffer.alloc(4);
  length.writeInt32BE(records.length);
  const DecoderClass = loadPrivate("protocol/decoder.js") as new (bytes: Buffer) => Decoder;
  return original(new DecoderClass(Buffer.concat([length, records])));
}

const withLimit =
  (decodeMessages: DecodeMessages): DecodeMessages =>
  async (decoder) => {
    const start = decoder.offset;
    const length = decoder.readInt32();
    if (length > magicOffset && decoder.canReadBytes(length)) {
      const bytes = decoder.readBytes(length);
      if (bytes.readInt8(magicOffset) === magic) return decodeBatches(bytes, maxBytes);
    }
    // There are no records, or they were written before Kafka 0.11.
    decoder.offset = start;
    return decodeMessages(decoder);
  };
