import {
  type Gzip,
  gzip,
  inflateRaw,
  zstdCompress,
  zstdDecompress,
  type ZlibOptions,
  type ZstdOptions,
} from "node:zlib";
import { promisify } from "node:util";

import kafkajs from "kafkajs";

import { measureGzipHeader } from "./gzip-header.ts";
import { measureLz4 } from "./lz4-size.ts";
import { ByteReader } from "./varint.ts";

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

/** A compressed member of gzip, or a frame of zstd. */
interface Frame {
  readonly plain: Buffer;
  /** Its compressed length. */
  readonly length: number;
}

type ReadFrame = (buffer: Buffer, maxBytes: number) => Promise<Frame>;

/** Each frame costs as much time as 100 kB of data. Producers write one frame per batch. */
const maxFrames = 1_000;

/**
 * Decompresses all frames, as the broker does when it checks a batch. Like Java's readers, it ignores bytes
 * after the first frame that cannot be decompressed; a batch that needs them has too few records.
 */
async function decompressFrames(buffer: Buffer, maxBytes: number, readFrame: ReadFrame): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for (let at = 0; at < buffer.length;) {
    if (parts.length === maxFrames) throw new RangeError(`more than ${maxFrames} compressed frames`);
    try {
      const { plain, length } = await readFrame(buffer.subarray(at), maxBytes - bytes);
      parts.push(plain);
      bytes += plain.length;
      at += length;
    } catch (error) {
      if (parts.length === 0 || error instanceof BatchTooLargeError) throw error;
      break;
    }
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

type Inflate = (
  buffer: Buffer,
  options: ZlibOptions & ZstdOptions,
  done: (error: Error | null, result: unknown) => void,
) => void;

/** Decompresses one stream, at whose end zlib stops. Throws BatchTooLargeError. */
const inflate = (run: Inflate, buffer: Buffer, maxBytes: number): Promise<Frame> =>
  new Promise((resolve, reject) => {
    run(buffer, { maxOutputLength: Math.max(1, maxBytes), info: true }, (error, result) => {
      if (error === null) {
        const { buffer: plain, engine } = result as { readonly buffer: Buffer; readonly engine: Gzip };
        resolve({ plain, length: engine.bytesWritten });
      } else if ("code" in error && error.code === "ERR_BUFFER_TOO_LARGE")
        reject(new BatchTooLargeError(maxBytes));
      else reject(error);
    });
  });

const inflateGzip: Inflate = (buffer, options, done) => {
  inflateRaw(buffer, options, done);
};
const inflateZstd: Inflate = (buffer, options, done) => {
  zstdDecompress(buffer, options, done);
};

const gzipTrailerBytes = 8;

const readGzipMember: ReadFrame = async (buffer, maxBytes) => {
  const start = measureGzipHeader(buffer);
  const { plain, length } = await inflate(inflateGzip, buffer.subarray(start), maxBytes);
  return { plain, length: start + length + gzipTrailerBytes };
};

const compressGzip = promisify<Buffer, Buffer>(gzip);
const gzipCodec: Codec = {
  compress: ({ buffer }) => compressGzip(buffer),
  decompress: (buffer, maxBytes) => decompressFrames(buffer, maxBytes, readGzipMember),
};

const compressZstd = promisify<Buffer, Buffer>(zstdCompress);
const zstd: Codec = {
  compress: ({ buffer }) => compressZstd(buffer),
  decompress: (buffer, maxBytes) =>
    decompressFrames(buffer, maxBytes, (frame, left) => inflate(inflateZstd, frame, left)),
};

// These libraries are native code, which takes memory, so they are loaded with the first batch that needs
// them.
const loadLz4 = () => import("lz4-napi");
const loadSnappy = () => import("snappy");

const lz4: Codec = {
  compress: async ({ buffer }) => (await loadLz4()).compressFrame(buffer),
  decompress: async (buffer, maxBytes) => {
    const { plainBytes, end } = measureLz4(buffer);
    checkSize(plainBytes, maxBytes);
    return (await loadLz4()).decompressFrame(buffer.subarray(0, end));
  },
};

/** Magic of snappy-java's framing, which Kafka's Java client uses; two version numbers follow. */
const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const xerialHeaderBytes = 16;

const isXerial = (buffer: Buffer, at: number): boolean =>
  buffer.subarray(at, at + xerialMagic.length).equals(xerialMagic);

const snappy: Codec = {
  compress: async ({ buffer }) => (await loadSnappy()).compress(buffer),

  async decompress(buffer, maxBytes) {
    let bytes = 0;
    for (const block of splitSnappyBlocks(buffer)) bytes += readSnappyLength(block);
    checkSize(bytes, maxBytes);
    const plain = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (const block of splitSnappyBlocks(buffer)) at += (await uncompress(block)).copy(plain, at);
    return plain;
  },
};

/**
 * Yields the blocks of all streams, which may follow one another. Like Java, it ignores up to three bytes at
 * the end.
 */
function* splitSnappyBlocks(buffer: Buffer): Generator<Buffer> {
  if (!isXerial(buffer, 0)) {
    yield buffer;
    return;
  }
  for (let at = 0; at + 4 <= buffer.length;) {
    if (isXerial(buffer, at)) at += xerialHeaderBytes;
    else {
      const end = at + 4 + buffer.readUInt32BE(at);
      yield buffer.subarray(at + 4, end);
      at = end;
    }
  }
}

/** The decompressed length, with which a block begins. snappy allocates no more than that. */
const readSnappyLength = (block: Buffer): number => new ByteReader(block, "a Snappy block").readUvarint();

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
 * Registers all codecs of Kafka with kafkajs. Without this it has gzip only, without a limit, and an unknown
 * codec would end the consumer. kafkajs uses them only for the record formats before Kafka 0.11.
 */
export function registerCodecs(maxBytes: number): void {
  const registered: Record<number, unknown> = kafkajs.CompressionCodecs;
  for (const [type, { compress, decompress }] of codecs)
    registered[type] = () => ({ compress, decompress: (buffer: Buffer) => decompress(buffer, maxBytes) });
}
