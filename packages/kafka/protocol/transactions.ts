import { errorCodes } from "./error-codes.ts";
import type { Reader } from "./format.ts";
import { failOnError, sendRequest, supports, type RequestTarget } from "./request.ts";

/** Partitions of one Kafka topic. */
export interface TopicPartitions {
  readonly topic: string;
  readonly partitions: readonly number[];
}

interface TransactionState {
  /** "CompleteCommit", "CompleteAbort", "Empty", "Ongoing", …; "" if nobody has used the transactional id. */
  readonly state: string;
  readonly producerId: string;
  /** Since Kafka 4, it grows by one when a transaction ends. */
  readonly producerEpoch: number;
}

const describeTransactions = 65;
const describeProducers = 61;

/** Kafka 3.0. */
export const canDescribeTransactions = (target: Pick<RequestTarget, "versions">): boolean =>
  supports(target, describeTransactions, 0);

/** Asks the coordinator of a transactional id. Throws kafkajs' errors. */
export const requestTransaction = (
  coordinator: RequestTarget,
  transactionalId: string,
): Promise<TransactionState> =>
  sendRequest(coordinator, {
    apiKey: describeTransactions,
    apiVersion: 0,
    apiName: "DescribeTransactions",
    isFlexible: true,
    encode: (writer) => writer.list([transactionalId], (id) => writer.text(id)).end(),
    decode(reader) {
      reader.int32();
      const [found] = reader.list(() => {
        const error = reader.int16();
        reader.text();
        const state = reader.text() ?? "";
        reader.int32();
        reader.int64();
        const producerId = String(reader.int64());
        const producerEpoch = reader.int16();
        reader.list(() => {
          reader.text();
          reader.list(() => reader.int32());
          reader.end();
        });
        reader.end();
        return { error, state, producerId, producerEpoch };
      });
      const { error = errorCodes.transactionalIdNotFound, ...transaction } = found ?? {};
      if (error !== errorCodes.transactionalIdNotFound) failOnError(error);
      return { state: "", producerId: "", producerEpoch: -1, ...transaction };
    },
  });

/** The records of a producer that have no end, in the partitions that one broker leads. */
export interface OpenPartitions {
  readonly open: readonly TopicPartitions[];
  /** The Kafka topics that the user may not read. */
  readonly denied: readonly string[];
}

/** A producer, and the epoch since which its transactions are looked for. */
export interface ProducerQuery {
  readonly producerId: string;
  readonly minEpoch: number;
}

/**
 * Asks a broker in which of the partitions that it leads a producer has records of a transaction without an
 * end. Requires Read on the topics. Those that were deleted are left out.
 */
export const requestOpenPartitions = (
  leader: RequestTarget,
  topics: readonly TopicPartitions[],
  query: ProducerQuery,
): Promise<OpenPartitions> =>
  sendRequest(leader, {
    apiKey: describeProducers,
    apiVersion: 0,
    apiName: "DescribeProducers",
    isFlexible: true,
    encode: (writer) =>
      writer
        .list(topics, ({ topic, partitions }) =>
          writer
            .text(topic)
            .list(partitions, (partition) => writer.int32(partition))
            .end(),
        )
        .end(),
    decode(reader) {
      reader.int32();
      const denied = new Set<string>();
      const found = reader.list(() => {
        const topic = reader.text() ?? "";
        const partitions = reader.list(() => {
          const { partition, error, isOpen } = readProducers(reader, query);
          if (error === errorCodes.topicAuthorizationFailed) denied.add(topic);
          else if (error !== errorCodes.unknownTopicOrPartition) failOnError(error);
          return isOpen ? [partition] : [];
        });
        reader.end();
        return { topic, partitions: partitions.flat() };
      });
      return { open: found.filter(({ partitions }) => partitions.length > 0), denied: [...denied] };
    },
  });

function readProducers(reader: Reader, { producerId, minEpoch }: ProducerQuery) {
  const partition = reader.int32();
  const error = reader.int16();
  reader.text();
  const open = reader.list(() => {
    const id = String(reader.int64());
    const epoch = reader.int32();
    reader.int32();
    reader.int64();
    reader.int32();
    const start = reader.int64();
    reader.end();
    return id === producerId && epoch >= minEpoch && start >= 0n;
  });
  reader.end();
  return { partition, error, isOpen: open.includes(true) };
}
