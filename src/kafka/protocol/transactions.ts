import { errorCodes } from "./error-codes.ts";
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
        reader.int16();
        reader.list(() => {
          reader.text();
          reader.list(() => reader.int32());
          reader.end();
        });
        reader.end();
        return { error, state, producerId };
      });
      const { error = errorCodes.transactionalIdNotFound, state = "", producerId = "" } = found ?? {};
      if (error !== errorCodes.transactionalIdNotFound) failOnError(error);
      return { state, producerId };
    },
  });

/** Of a Kafka topic that was deleted, and of one that the user may not read. */
const skippedErrors: ReadonlySet<number> = new Set([
  errorCodes.unknownTopicOrPartition,
  errorCodes.topicAuthorizationFailed,
]);

/**
 * Asks a broker in which of the partitions that it leads a producer has records of a transaction without an
 * end. Partitions that the user may not read are left out.
 */
export const requestOpenPartitions = (
  leader: RequestTarget,
  topics: readonly TopicPartitions[],
  producerId: string,
): Promise<TopicPartitions[]> =>
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
      const found = reader.list(() => {
        const topic = reader.text() ?? "";
        const partitions = reader.list(() => {
          const partition = reader.int32();
          const error = reader.int16();
          if (!skippedErrors.has(error)) failOnError(error);
          reader.text();
          const open = reader.list(() => {
            const id = String(reader.int64());
            reader.int32();
            reader.int32();
            reader.int64();
            reader.int32();
            const start = reader.int64();
            reader.end();
            return id === producerId && start >= 0n;
          });
          reader.end();
          return open.includes(true) ? [partition] : [];
        });
        reader.end();
        return { topic, partitions: partitions.flat() };
      });
      return found.filter(({ partitions }) => partitions.length > 0);
    },
  });
