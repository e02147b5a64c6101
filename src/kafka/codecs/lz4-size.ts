const frameMagic = 0x184d2204;
/** Skippable frames: 0x184D2A50 to 0x184D2A5F. */
const skippableMagic = 0x184d2a50;

const hasBlockChecksum = 0x10;
const hasContentSize = 0x08;
const hasContentChecksum = 0x04;
const hasDictionary = 0x01;
const isUncompressed = 0x8000_0000;
const minMatch = 4;

/**
 * Computes the decompressed size of LZ4 frames without decompressing them: lz4-napi has no limit, and the content size in a
 * frame may be absent or wrong. Throws a RangeError for data that is not a complete frame.
 * Format: github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md.
 */
export function measureLz4(frames: Buffer): number {
  let size = 0;
  for (let at = 0; at < frames.length;) {
    const magic = frames.readUInt32LE(at);
    if ((magic & 0xffff_fff0) >>> 0 === skippableMagic) {
      at += 8 + frames.readUInt32LE(at + 4);
      continue;
    }
    if (magic !== frameMagic) throw new RangeError("the records are not an LZ4 frame");
    const flags = frames.readUInt8(at + 4);
    at += 7 + (flags & hasContentSize ? 8 : 0) + (flags & hasDictionary ? 4 : 0);
    for (;;) {
      const head = frames.readUInt32LE(at);
      at += 4;
      if (head === 0) break;
      const length = head & ~isUncompressed;
      if (at + length > frames.length) throw new RangeError("an LZ4 block is truncated");
      size += head >= isUncompressed ? length : measureBlock(frames.subarray(at, at + length));
      at += length + (flags & hasBlockChecksum ? 4 : 0);
    }
    if (flags & hasContentChecksum) at += 4;
  }
  return size;
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
