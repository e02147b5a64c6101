const magic = 0x8b1f;
const hasChecksum = 0x02;
const hasExtraField = 0x04;
const hasName = 0x08;
const hasComment = 0x10;

/** Measures the header of a gzip member (RFC 1952, section 2.3). Throws a RangeError for anything else. */
export function measureGzipHeader(member: Buffer): number {
  if (member.readUInt16LE(0) !== magic) throw new RangeError("the records are not compressed with gzip");
  const flags = member.readUInt8(3);
  let at = 10;
  if (flags & hasExtraField) at += 2 + member.readUInt16LE(at);
  if (flags & hasName) at = findTextEnd(member, at);
  if (flags & hasComment) at = findTextEnd(member, at);
  if (flags & hasChecksum) at += 2;
  return at;
}

function findTextEnd(member: Buffer, start: number): number {
  const end = member.indexOf(0, start);
  if (end < 0) throw new RangeError("the header of the gzip member is truncated");
  return end + 1;
}
