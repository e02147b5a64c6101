import { loadPrivate } from "./patch.ts";

/** Kafka's protocol, "OffsetFetch". Version 7 (Kafka 2.5) is the first that can ask for stable offsets. */
const apiKey = 9;
const apiVersion = 7;

/** The parts of kafkajs' encoder and decoder that the request needs. */
interface Encoder {
  writeInt32(value: number): this;
  writeBoolean(value: boolean): this;
  writeUVarInt(value: number): this;
  writeUVarIntString(value: string): this;
}
interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readUVarInt(): number;
  readUVarIntString(): string | null;
  readTaggedFields(): unknown;
}

/** A broker, as a private cluster of kafkajs returns it. */
interface Coordinator {
  readonly connectionPool: { send(request: object): Promise<CommittedOffset> };
}
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  findGroupCoordinator(request: { readonly groupId: string }): Promise<Coordinator>;
}

export interface CommittedOffset {
  /** -1 when nothing was committed. */
  readonly offset: number;
  readonly metadata: string;
}

export interface OffsetQuery {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
}

/** Reads committed offsets of groups. */
export interface StableOffsets {
  /** Throws kafkajs' errors: UNSTABLE_OFFSET_COMMIT while a transaction that moves the offset is being completed. */
  fetch(query: OffsetQuery): Promise<CommittedOffset>;
  close(): Promise<void>;
}

/**
 * Reads offsets that transactions commit. kafkajs 2.2.4 has no such request: its `fetchOffsets` returns the old offset while
 * a commit is still being completed. See docs/decisions/017-router-on-transactions.md.
 */
export function createStableOffsets(createCluster: () => object): StableOffsets {
  const cluster = createCluster() as Cluster;
  return {
    async fetch(query) {
      await cluster.connect();
      const coordinator = await cluster.findGroupCoordinator({ groupId: query.groupId });
      return coordinator.connectionPool.send(createRequest(query));
    },
    close: () => cluster.disconnect(),
  };
}

/** Lists have their length plus one before them, and every structure ends with its number of tagged fields. */
function createRequest({ groupId, topic, partition }: OffsetQuery): object {
  const EncoderClass = loadPrivate("protocol/encoder") as new () => Encoder;
  const DecoderClass = loadPrivate("protocol/decoder") as new (bytes: Buffer) => Decoder;
  const { failure, createErrorFromCode } = loadPrivate("protocol/error") as {
    readonly failure: (code: number) => boolean;
    readonly createErrorFromCode: (code: number) => Error;
  };
  const fail = (code: number): void => {
    if (failure(code)) throw createErrorFromCode(code);
  };
  return {
    request: {
      apiKey,
      apiVersion,
      apiName: "OffsetFetch",
      encode: () =>
        Promise.resolve(
          new EncoderClass()
            // The end of the request's header.
            .writeUVarInt(0)
            .writeUVarIntString(groupId)
            .writeUVarInt(2)
            .writeUVarIntString(topic)
            .writeUVarInt(2)
            .writeInt32(partition)
            .writeUVarInt(0)
            .writeBoolean(true)
            .writeUVarInt(0),
        ),
    },
    response: {
      decode(bytes: Buffer): Promise<CommittedOffset> {
        const decoder = new DecoderClass(bytes);
        // The end of the response's header, and the time for which the broker throttles.
        decoder.readTaggedFields();
        decoder.readInt32();
        const found: CommittedOffset[] = [];
        for (let topics = decoder.readUVarInt() - 1; topics > 0; topics -= 1) {
          decoder.readUVarIntString();
          for (let partitions = decoder.readUVarInt() - 1; partitions > 0; partitions -= 1) {
            decoder.readInt32();
            const offset = Number(decoder.readInt64().toString());
            decoder.readInt32();
            found.push({ offset, metadata: decoder.readUVarIntString() ?? "" });
            fail(decoder.readInt16());
            decoder.readTaggedFields();
          }
          decoder.readTaggedFields();
        }
        fail(decoder.readInt16());
        return Promise.resolve(found[0] ?? { offset: -1, metadata: "" });
      },
      parse: (committed: CommittedOffset) => Promise.resolve(committed),
    },
  };
}
