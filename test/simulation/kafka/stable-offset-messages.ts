/** The server's half of OffsetFetch, version 7, as src/kafka/protocol/offset-fetch.ts writes and reads it. */
import { loadPrivate } from "../../../src/kafka/workarounds/patch.ts";

interface Reader {
  readInt32(): number;
  readBoolean(): boolean;
  readUVarInt(): number;
  readUVarIntString(): string | null;
}
interface Writer {
  readonly buffer: Buffer;
  writeInt16(value: number): this;
  writeInt32(value: number): this;
  writeInt64(value: number): this;
  writeUVarInt(value: number): this;
  writeUVarIntString(value: string): this;
}

const ReaderClass = loadPrivate("protocol/decoder") as new (bytes: Buffer) => Reader;
const WriterClass = loadPrivate("protocol/encoder") as new () => Writer;

/** Reads a request for one partition. */
export function decodeOffsetFetch(bytes: Buffer): {
  readonly topic: string;
  readonly partition: number;
  readonly requireStable: boolean;
} {
  const reader = new ReaderClass(bytes);
  reader.readUVarInt();
  reader.readUVarIntString();
  reader.readUVarInt();
  const topic = reader.readUVarIntString() ?? "";
  reader.readUVarInt();
  const partition = reader.readInt32();
  reader.readUVarInt();
  return { topic, partition, requireStable: reader.readBoolean() };
}

interface Answer {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

export const encodeOffsetFetched = ({ topic, partition, offset, metadata }: Answer): Buffer =>
  new WriterClass()
    .writeUVarInt(0)
    .writeInt32(0)
    .writeUVarInt(2)
    .writeUVarIntString(topic)
    .writeUVarInt(2)
    .writeInt32(partition)
    .writeInt64(offset)
    .writeInt32(-1)
    .writeUVarIntString(metadata)
    .writeInt16(0)
    .writeUVarInt(0)
    .writeUVarInt(0)
    .writeInt16(0)
    .writeUVarInt(0).buffer;
