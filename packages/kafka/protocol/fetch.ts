import type { Reader } from "./format.ts";
import { formatTopicId, parseTopicId } from "./metadata.ts";
import { sendRequest, supports, type RequestTarget } from "./request.ts";

/** A fetch request of kafkajs 2.2.4, which names topics. */
export interface FetchRequest {
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  /** 1 leaves out records of transactions that are not committed. */
  readonly isolationLevel: number;
  readonly rackId: string;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
}

export interface FetchedById {
  readonly error: number;
  readonly topics: readonly { readonly topicId: string; readonly partitions: readonly FetchedPartition[] }[];
}

interface FetchedPartition {
  readonly partition: number;
  readonly error: number;
  /** Like the other offsets, -1 if there is an error. */
  readonly highWatermark: bigint;
  readonly lastStableOffset: bigint;
  readonly logStartOffset: bigint;
  readonly abortedTransactions: { readonly producerId: string; readonly firstOffset: string }[];
  readonly preferredReadReplica: number;
  /** Record batches; the last one may be truncated. */
  readonly records: Buffer;
}

export const fetchApiKey = 1;
const apiKey = fetchApiKey;
/** Kafka 3.1: the first that names topics by their ids. */
const apiVersion = 13;
/** Kafka 3.9: a broker's logs have their ids from the start. Before, one without an id yet passed for any. */
const versionWithCertainIds = 17;

/** kafkajs allows 100 ms besides the wait, which is short for a response of megabytes. */
const transferTimeoutMs = 15_000;

export const canFetchById = (broker: RequestTarget): boolean => supports(broker, apiKey, apiVersion);

export const knowsIdsOfLogs = (broker: RequestTarget): boolean =>
  supports(broker, apiKey, versionWithCertainIds);

/**
 * Fetches by topic id. A broker compares the id with that of the log that it reads, so what is returned
 * without an error comes from this log. Outside of fetch sessions, as kafkajs fetches. Throws kafkajs'
 * errors.
 *
 * @param ids - By name, of all requested topics.
 */
export const requestFetch = (
  broker: RequestTarget,
  request: FetchRequest,
  ids: ReadonlyMap<string, string>,
): Promise<FetchedById> =>
  sendRequest(broker, {
    apiKey,
    apiVersion,
    apiName: "Fetch",
    isFlexible: true,
    timeoutMs: request.maxWaitTime + transferTimeoutMs,
    encode(writer) {
      const { maxWaitTime, minBytes, maxBytes, isolationLevel, topics, rackId } = request;
      writer.int32(-1).int32(maxWaitTime).int32(minBytes).int32(maxBytes).int8(isolationLevel);
      // Both say that there is no fetch session.
      writer.int32(0).int32(-1);
      writer.list(topics, ({ topic, partitions }) => {
        writer.bytes(parseTopicId(ids.get(topic) ?? ""));
        writer
          .list(partitions, ({ partition, fetchOffset, maxBytes: limit }) => {
            writer.int32(partition).int32(-1).int64(fetchOffset).int32(-1).int64(-1).int32(limit).end();
          })
          .end();
      });
      writer
        .list([], () => undefined)
        .text(rackId)
        .end();
    },
    decode(reader) {
      reader.int32();
      const error = reader.int16();
      reader.int32();
      const topics = reader.list(() => {
        const topicId = formatTopicId(reader.bytes(16));
        const partitions = reader.list(() => readPartition(reader));
        reader.end();
        return { topicId, partitions };
      });
      return { error, topics };
    },
  });

function readPartition(reader: Reader): FetchedPartition {
  const fetched = {
    partition: reader.int32(),
    error: reader.int16(),
    highWatermark: reader.int64(),
    lastStableOffset: reader.int64(),
    logStartOffset: reader.int64(),
    abortedTransactions: reader.list(() => {
      const aborted = { producerId: String(reader.int64()), firstOffset: String(reader.int64()) };
      reader.end();
      return aborted;
    }),
    preferredReadReplica: reader.int32(),
    records: reader.bytes(Math.max(0, reader.uvarint() - 1)),
  };
  reader.end();
  return fetched;
}
