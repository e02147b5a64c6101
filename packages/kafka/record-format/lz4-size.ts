const frameMagic = 0x184d2204;

const hasBlockChecksum = 0x10;
const hasContentSize = 0x08;
const hasContentChecksum = 0x04;
const hasDictionary = 0x01;
const isUncompressed = 0x8000_0000;
const minMatch = 4;

/**
 * Computes the decompressed size of an LZ4 frame without decompressing it: lz4-napi has no limit, and the
 * content size in a frame may be absent or wrong. `end` is the frame's own length; Kafka's readers ignore
 * what follows it. Throws a RangeError for data that does not begin with a complete frame.
 * Format: github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md.
 */
export function measureLz4(frame: Buffer): { readonly plainBytes: number; readonly end: number } {
  if (frame.readUInt32LE(0) !== frameMagic) throw new RangeError("the records are not an LZ4 frame");
  const flags = frame.readUInt8(4);
  let plainBytes = 0;
  let at = 7 + (flags & hasContentSize ? 8 : 0) + (flags & hasDictionary ? 4 : 0);
  for (;;) {
    const head = frame.readUInt32LE(at);
    at += 4;
    if (head === 0) break;
    const length = head & ~isUncompressed;
    if (at + length > frame.length) throw new RangeError("an LZ4 block is truncated");
    plainBytes += head >= isUncompressed ? length : measureBlock(frame.subarray(at, at + length));
    at += length + (flags & hasBlockChecksum ? 4 : 0);
  }
  return { plainBytes, end: at + (flags & hasContentChecksum ? 4 : 0) };
}

function measureBlock(block: Buffer): number {
  let size = 0;
  let at = 0;

  /** A length of 15 continues in the following bytes, up to the first that is not 255. */
  function readLength(first: number): number {
    let length = first;
    if (first === 15) {
      let byte: number;
      do {
        byte = block.readUInt8(at);
        at += 1;
        length += byte;
      } while (byte === 255);
    }
    return length;
  }

  while (at < block.length) {
    const token = block.readUInt8(at);
    at += 1;
    const literals = readLength(token >> 4);
    size += literals;
    at += literals;
    // The last sequence has literals only.
    if (at >= block.length) break;
    at += 2;
    size += readLength(token & 15) + minMatch;
  }
  return size;
}
