import type { Reader } from "./format.ts";
import { sendRequest, supports, type RequestTarget } from "./request.ts";

export interface Metadata {
  readonly brokers: readonly BrokerAddress[];
  readonly clusterId: string | null;
  /** -1 if there is none. */
  readonly controllerId: number;
  readonly topics: readonly TopicMetadata[];
}

interface BrokerAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

interface TopicMetadata {
  /** An error code of Kafka's protocol; 0 if the topic is known. */
  readonly error: number;
  readonly name: string;
  /** The format is that of Kafka's tools; undefined if brokers have no ids. */
  readonly topicId: string | undefined;
  readonly partitions: readonly PartitionMetadata[];
}

export interface PartitionMetadata {
  readonly error: number;
  readonly partition: number;
  /** -1 if there is none. */
  readonly leader: number;
  /** -1 if brokers do not report it. */
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  readonly offlineReplicas: readonly number[];
}

const apiKey = 3;
/** Kafka 3.1: the first that asks by id; every version since 2.8 returns ids. */
const versionWithIds = 12;
/** The last one that Azure Event Hubs has. */
const versionWithoutIds = 5;
const idBytes = 16;
const noId = "A".repeat(22);

/** Whether this broker reports the ids of topics. */
export const hasTopicIds = (broker: RequestTarget): boolean => supports(broker, apiKey, versionWithIds);

/**
 * Asks a broker for these topics; an empty list asks for the brokers only, null for all topics. kafkajs' own
 * request fails if any partition of any topic has an error. Throws kafkajs' errors.
 */
export function requestMetadata(broker: RequestTarget, names: readonly string[] | null): Promise<Metadata> {
  const withIds = hasTopicIds(broker);
  return sendRequest(broker, {
    apiKey,
    apiVersion: withIds ? versionWithIds : versionWithoutIds,
    apiName: "Metadata",
    isFlexible: withIds,
    encode(writer) {
      writer
        .list(names, (name) => {
          if (withIds) writer.bytes(Buffer.alloc(idBytes));
          writer.text(name).end();
        })
        .boolean(false);
      if (withIds) writer.boolean(false).end();
    },
    decode: (reader) => readMetadata(reader, withIds),
  });
}

function readMetadata(reader: Reader, withIds: boolean): Metadata {
  reader.int32();
  const brokers = reader.list(() => {
    const nodeId = reader.int32();
    const host = reader.text() ?? "";
    const broker = { nodeId, host, port: reader.int32(), rack: reader.text() };
    reader.end();
    return broker;
  });
  const clusterId = reader.text();
  const controllerId = reader.int32();
  return { brokers, clusterId, controllerId, topics: reader.list(() => readTopic(reader, withIds)) };
}

function readTopic(reader: Reader, withIds: boolean): TopicMetadata {
  const error = reader.int16();
  const name = reader.text() ?? "";
  const id = withIds ? formatTopicId(reader.bytes(idBytes)) : noId;
  reader.boolean();
  const partitions = reader.list(() => readPartition(reader, withIds));
  if (withIds) reader.int32();
  reader.end();
  // A proxy that rewrites names may omit ids.
  return { error, name, topicId: id === noId ? undefined : id, partitions };
}

function readPartition(reader: Reader, withIds: boolean): PartitionMetadata {
  const error = reader.int16();
  const partition = reader.int32();
  const leader = reader.int32();
  const leaderEpoch = withIds ? reader.int32() : -1;
  const readNodes = (): number[] => reader.list(() => reader.int32());
  const nodes = { replicas: readNodes(), isr: readNodes(), offlineReplicas: readNodes() };
  reader.end();
  return { error, partition, leader, leaderEpoch, ...nodes };
}

/** Formats an id like Kafka's tools: 22 characters of URL-safe Base64. */
export const formatTopicId = (bytes: Buffer): string => bytes.toString("base64url");

export const parseTopicId = (id: string): Buffer => Buffer.from(id, "base64url");
