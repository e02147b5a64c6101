import { gunzip, gzip, zstdCompress, zstdDecompress } from "node:zlib";
import { promisify } from "node:util";

import kafkajs from "kafkajs";

import { measureLz4 } from "./lz4-size.ts";

interface Encoder {
  readonly buffer: Buffer;
}

interface Codec {
  readonly compress: (encoder: Encoder) => Promise<Buffer>;
  /** Never allocates much more than `maxBytes`. Throws BatchTooLargeError. */
  readonly decompress: (buffer: Buffer, maxBytes: number) => Promise<Buffer>;
}

/** The records of a batch are larger than allowed. */
export class BatchTooLargeError extends Error {
  override readonly name = "BatchTooLargeError";

  constructor(maxBytes: number) {
    super(`a batch of records has more than ${maxBytes} bytes when it is decompressed`);
  }
}

function checkSize(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new BatchTooLargeError(maxBytes);
}

type Inflate = (buffer: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** zlib stops at the limit. */
const inflateWith =
  (inflate: Inflate): Codec["decompress"] =>
  async (buffer, maxBytes) => {
    try {
      return await inflate(buffer, { maxOutputLength: Math.max(1, maxBytes) });
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE")
        throw new BatchTooLargeError(maxBytes);
      throw error;
    }
  };

const compressGzip = promisify<Buffer, Buffer>(gzip);
const gzipCodec: Codec = {
  compress: ({ buffer }) => compressGzip(buffer),
  decompress: inflateWith(promisify(gunzip)),
};

const compressZstd = promisify<Buffer, Buffer>(zstdCompress);
const zstd: Codec = {
  compress: ({ buffer }) => compressZstd(buffer),
  decompress: inflateWith(promisify(zstdDecompress)),
};

// Native code, which takes memory: loaded with the first batch that needs it.
const loadLz4 = () => import("lz4-napi");
const loadSnappy = () => import("snappy");

const lz4: Codec = {
  compress: async ({ buffer }) => (await loadLz4()).compressFrame(buffer),
  decompress: async (buffer, maxBytes) => {
    checkSize(measureLz4(buffer), maxBytes);
    return (await loadLz4()).decompressFrame(buffer);
  },
};

/** Magic of snappy-java's framing, which Kafka's Java client uses; two version numbers follow. */
const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const xerialHeaderBytes = 16;

const snappy: Codec = {
  compress: async ({ buffer }) => (await loadSnappy()).compress(buffer),

  async decompress(buffer, maxBytes) {
    const blocks = splitSnappyBlocks(buffer);
    checkSize(
      blocks.reduce((sum, block) => sum + readSnappyLength(block), 0),
      maxBytes,
    );
    const plain: Buffer[] = [];
    for (const block of blocks) plain.push(await uncompress(block));
    return plain.length === 1 && plain[0] !== undefined ? plain[0] : Buffer.concat(plain);
  },
};

function splitSnappyBlocks(buffer: Buffer): Buffer[] {
  if (!buffer.subarray(0, xerialMagic.length).equals(xerialMagic)) return [buffer];
  const blocks: Buffer[] = [];
  for (let at = xerialHeaderBytes; at < buffer.length;) {
    const end = at + 4 + buffer.readUInt32BE(at);
    blocks.push(buffer.subarray(at + 4, end));
    at = end;
  }
  return blocks;
}

/** The decompressed length: a varint at the start of the block. snappy allocates no more than that. */
function readSnappyLength(block: Buffer): number {
  let length = 0;
  for (const [index, byte] of block.subarray(0, 5).entries()) {
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) break;
  }
  return length;
}

async function uncompress(block: Buffer): Promise<Buffer> {
  const plain = await (await loadSnappy()).uncompress(block, { asBuffer: true });
  return Buffer.isBuffer(plain) ? plain : Buffer.from(plain);
}

/** The codecs by their number in a batch's attributes (`CompressionTypes` in kafkajs). */
export const codecs: ReadonlyMap<number, Codec> = new Map([
  [1, gzipCodec],
  [2, snappy],
  [3, lz4],
  [4, zstd],
]);

/**
 * Registers all codecs of Kafka with kafkajs, which has gzip only, without a limit; an unknown codec would end the consumer.
 * kafkajs uses them only for the record formats before Kafka 0.11.
 */
export function registerCodecs(maxBytes: number): void {
  const registered: Record<number, unknown> = kafkajs.CompressionCodecs;
  for (const [type, { compress, decompress }] of codecs)
    registered[type] = () => ({ compress, decompress: (buffer: Buffer) => decompress(buffer, maxBytes) });
}
