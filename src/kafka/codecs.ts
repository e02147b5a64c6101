import { zstdCompress, zstdDecompress } from "node:zlib";
import { promisify } from "node:util";

import kafkajs from "kafkajs";
import { compressFrame, decompressFrame } from "lz4-napi";
import { compress as snappyCompress, uncompress as snappyUncompress } from "snappy";

interface Encoder {
  readonly buffer: Buffer;
}

/** Decompresses one record batch of at most the broker's `message.max.bytes`. */
interface Codec {
  compress(encoder: Encoder): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

const compressZstd = promisify(zstdCompress);
const decompressZstd = promisify(zstdDecompress);

const zstd: Codec = {
  compress: ({ buffer }) => compressZstd(buffer),
  decompress: (buffer) => decompressZstd(buffer),
};

const lz4: Codec = {
  compress: ({ buffer }) => compressFrame(buffer),
  decompress: (buffer) => decompressFrame(buffer),
};

/** Head of the framing that Kafka's Java client puts around snappy (of xerial's snappy-java), two versions behind it. */
const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const xerialHeaderBytes = 16;

const snappy: Codec = {
  compress: ({ buffer }) => snappyCompress(buffer),

  async decompress(buffer) {
    if (!buffer.subarray(0, xerialMagic.length).equals(xerialMagic)) return uncompress(buffer);
    const blocks: Buffer[] = [];
    for (let at = xerialHeaderBytes; at < buffer.length;) {
      const length = buffer.readInt32BE(at);
      blocks.push(await uncompress(buffer.subarray(at + 4, at + 4 + length)));
      at += 4 + length;
    }
    return Buffer.concat(blocks);
  },
};

async function uncompress(block: Buffer): Promise<Buffer> {
  const plain = await snappyUncompress(block, { asBuffer: true });
  return Buffer.isBuffer(plain) ? plain : Buffer.from(plain);
}

/**
 * Makes every codec of Kafka known to kafkajs, which has only gzip: a record in an unknown one would end the consumer.
 */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.Snappy] = () => snappy;
  CompressionCodecs[CompressionTypes.LZ4] = () => lz4;
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstd;
}
