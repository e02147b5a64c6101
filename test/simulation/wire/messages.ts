/**
 * The requests and responses of a simulated broker: of each kind the version that kafkajs 2.2.4 chooses against a current
 * broker, and those that the product sends. Names and order of fields are those of Kafka's message definitions.
 */
import {
  boolean,
  bytes,
  compactBytes,
  compactList,
  compactString,
  int16,
  int32,
  int64,
  int8,
  list,
  nullableCompactList,
  nullableCompactString,
  nullableList,
  nullableString,
  string,
  struct,
  tagged,
  uuid,
  type Fields,
  type Type,
  type Value,
} from "./format.ts";

const topicsOf = <F extends Fields>(partition: F) =>
  list(struct({ topic: string, partitions: list(struct(partition)) }));
const topicsWithNumbers = list(struct({ topic: string, partitions: list(int32) }));
const compactTopicsOf = <F extends Fields>(partition: F) =>
  compactList(tagged({ topic: compactString, partitions: compactList(tagged(partition)) }));

const throttle = int32;
const error = int16;
const outcome = struct({ throttle, error });
const transaction = { transactionalId: string, producerId: int64, producerEpoch: int16 };

const metadataRequest = struct({ topics: nullableList(string), allowAutoTopicCreation: boolean });
const metadataResponse = struct({
  throttle,
  brokers: list(struct({ nodeId: int32, host: string, port: int32, rack: nullableString })),
  clusterId: nullableString,
  controllerId: int32,
  topics: list(
    struct({
      error,
      topic: string,
      isInternal: boolean,
      partitions: list(
        struct({
          error,
          partition: int32,
          leader: int32,
          replicas: list(int32),
          isr: list(int32),
          offline: list(int32),
        }),
      ),
    }),
  ),
});

const fetched = {
  error,
  highWatermark: int64,
  lastStableOffset: int64,
  logStartOffset: int64,
};

export const messages = {
  produce7: {
    key: 0,
    version: 7,
    isFlexible: false,
    request: struct({
      transactionalId: nullableString,
      acks: int16,
      timeout: int32,
      topics: topicsOf({ partition: int32, records: bytes }),
    }),
    response: struct({
      topics: topicsOf({
        partition: int32,
        error,
        baseOffset: int64,
        logAppendTime: int64,
        logStartOffset: int64,
      }),
      throttle,
    }),
  },
  fetch11: {
    key: 1,
    version: 11,
    isFlexible: false,
    request: struct({
      replicaId: int32,
      maxWaitMs: int32,
      minBytes: int32,
      maxBytes: int32,
      isolationLevel: int8,
      sessionId: int32,
      sessionEpoch: int32,
      topics: topicsOf({
        partition: int32,
        leaderEpoch: int32,
        fetchOffset: int64,
        logStartOffset: int64,
        maxBytes: int32,
      }),
      forgotten: topicsWithNumbers,
      rackId: string,
    }),
    response: struct({
      throttle,
      error,
      sessionId: int32,
      topics: topicsOf({
        partition: int32,
        ...fetched,
        aborted: nullableList(struct({ producerId: int64, firstOffset: int64 })),
        preferredReadReplica: int32,
        records: bytes,
      }),
    }),
  },
  fetch13: {
    key: 1,
    version: 13,
    isFlexible: true,
    request: tagged({
      replicaId: int32,
      maxWaitMs: int32,
      minBytes: int32,
      maxBytes: int32,
      isolationLevel: int8,
      sessionId: int32,
      sessionEpoch: int32,
      topics: compactList(
        tagged({
          topicId: uuid,
          partitions: compactList(
            tagged({
              partition: int32,
              leaderEpoch: int32,
              fetchOffset: int64,
              lastFetchedEpoch: int32,
              logStartOffset: int64,
              maxBytes: int32,
            }),
          ),
        }),
      ),
      forgotten: compactList(tagged({ topicId: uuid, partitions: compactList(int32) })),
      rackId: compactString,
    }),
    response: tagged({
      throttle,
      error,
      sessionId: int32,
      topics: compactList(
        tagged({
          topicId: uuid,
          partitions: compactList(
            tagged({
              partition: int32,
              ...fetched,
              aborted: nullableCompactList(tagged({ producerId: int64, firstOffset: int64 })),
              preferredReadReplica: int32,
              records: compactBytes,
            }),
          ),
        }),
      ),
    }),
  },
  listOffsets3: {
    key: 2,
    version: 3,
    isFlexible: false,
    request: struct({
      replicaId: int32,
      isolationLevel: int8,
      topics: topicsOf({ partition: int32, timestamp: int64 }),
    }),
    response: struct({
      throttle,
      topics: topicsOf({ partition: int32, error, timestamp: int64, offset: int64 }),
    }),
  },
  metadata5: {
    key: 3,
    version: 5,
    isFlexible: false,
    request: metadataRequest,
    response: metadataResponse,
  },
  metadata6: {
    key: 3,
    version: 6,
    isFlexible: false,
    request: metadataRequest,
    response: metadataResponse,
  },
  metadata12: {
    key: 3,
    version: 12,
    isFlexible: true,
    request: tagged({
      topics: nullableCompactList(tagged({ topicId: uuid, topic: nullableCompactString })),
      allowAutoTopicCreation: boolean,
      includeTopicOperations: boolean,
    }),
    response: tagged({
      throttle,
      brokers: compactList(
        tagged({ nodeId: int32, host: compactString, port: int32, rack: nullableCompactString }),
      ),
      clusterId: nullableCompactString,
      controllerId: int32,
      topics: compactList(
        tagged({
          error,
          topic: nullableCompactString,
          topicId: uuid,
          isInternal: boolean,
          partitions: compactList(
            tagged({
              error,
              partition: int32,
              leader: int32,
              leaderEpoch: int32,
              replicas: compactList(int32),
              isr: compactList(int32),
              offline: compactList(int32),
            }),
          ),
          operations: int32,
        }),
      ),
    }),
  },
  offsetCommit5: {
    key: 8,
    version: 5,
    isFlexible: false,
    request: struct({
      groupId: string,
      generation: int32,
      memberId: string,
      topics: topicsOf({ partition: int32, offset: int64, metadata: nullableString }),
    }),
    response: struct({ throttle, topics: topicsOf({ partition: int32, error }) }),
  },
  offsetFetch4: {
    key: 9,
    version: 4,
    isFlexible: false,
    request: struct({
      groupId: string,
      topics: nullableList(struct({ topic: string, partitions: list(int32) })),
    }),
    response: struct({
      throttle,
      topics: topicsOf({ partition: int32, offset: int64, metadata: nullableString, error }),
      error,
    }),
  },
  offsetFetch7: {
    key: 9,
    version: 7,
    isFlexible: true,
    request: tagged({
      groupId: compactString,
      topics: nullableCompactList(tagged({ topic: compactString, partitions: compactList(int32) })),
      requireStable: boolean,
    }),
    response: tagged({
      throttle,
      topics: compactTopicsOf({
        partition: int32,
        offset: int64,
        leaderEpoch: int32,
        metadata: nullableCompactString,
        error,
      }),
      error,
    }),
  },
  findCoordinator2: {
    key: 10,
    version: 2,
    isFlexible: false,
    request: struct({ key: string, type: int8 }),
    response: struct({
      throttle,
      error,
      errorMessage: nullableString,
      nodeId: int32,
      host: string,
      port: int32,
    }),
  },
  joinGroup5: {
    key: 11,
    version: 5,
    isFlexible: false,
    request: struct({
      groupId: string,
      sessionTimeout: int32,
      rebalanceTimeout: int32,
      memberId: string,
      groupInstanceId: nullableString,
      protocolType: string,
      protocols: list(struct({ name: string, metadata: bytes })),
    }),
    response: struct({
      throttle,
      error,
      generation: int32,
      protocol: string,
      leaderId: string,
      memberId: string,
      members: list(struct({ memberId: string, groupInstanceId: nullableString, metadata: bytes })),
    }),
  },
  heartbeat3: {
    key: 12,
    version: 3,
    isFlexible: false,
    request: struct({
      groupId: string,
      generation: int32,
      memberId: string,
      groupInstanceId: nullableString,
    }),
    response: outcome,
  },
  leaveGroup3: {
    key: 13,
    version: 3,
    isFlexible: false,
    request: struct({
      groupId: string,
      members: list(struct({ memberId: string, groupInstanceId: nullableString })),
    }),
    response: struct({
      throttle,
      error,
      members: list(struct({ memberId: string, groupInstanceId: nullableString, error })),
    }),
  },
  syncGroup3: {
    key: 14,
    version: 3,
    isFlexible: false,
    request: struct({
      groupId: string,
      generation: int32,
      memberId: string,
      groupInstanceId: nullableString,
      assignments: list(struct({ memberId: string, assignment: bytes })),
    }),
    response: struct({ throttle, error, assignment: bytes }),
  },
  describeGroups2: {
    key: 15,
    version: 2,
    isFlexible: false,
    request: struct({ groups: list(string) }),
    response: struct({
      throttle,
      groups: list(
        struct({
          error,
          groupId: string,
          state: string,
          protocolType: string,
          protocol: string,
          members: list(
            struct({
              memberId: string,
              clientId: string,
              clientHost: string,
              metadata: bytes,
              assignment: bytes,
            }),
          ),
        }),
      ),
    }),
  },
  apiVersions2: {
    key: 18,
    version: 2,
    isFlexible: false,
    request: struct({}),
    response: struct({
      error,
      versions: list(struct({ key: int16, min: int16, max: int16 })),
      throttle,
    }),
  },
  createTopics3: {
    key: 19,
    version: 3,
    isFlexible: false,
    request: struct({
      topics: list(
        struct({
          topic: string,
          partitions: int32,
          replicationFactor: int16,
          assignments: list(struct({ partition: int32, replicas: list(int32) })),
          configs: list(struct({ name: string, value: nullableString })),
        }),
      ),
      timeout: int32,
      validateOnly: boolean,
    }),
    response: struct({
      throttle,
      topics: list(struct({ topic: string, error, errorMessage: nullableString })),
    }),
  },
  initProducerId1: {
    key: 22,
    version: 1,
    isFlexible: false,
    request: struct({ transactionalId: nullableString, transactionTimeout: int32 }),
    response: struct({ throttle, error, producerId: int64, producerEpoch: int16 }),
  },
  addPartitionsToTxn1: {
    key: 24,
    version: 1,
    isFlexible: false,
    request: struct({ ...transaction, topics: topicsWithNumbers }),
    response: struct({ throttle, topics: topicsOf({ partition: int32, error }) }),
  },
  addOffsetsToTxn1: {
    key: 25,
    version: 1,
    isFlexible: false,
    request: struct({ ...transaction, groupId: string }),
    response: outcome,
  },
  endTxn1: {
    key: 26,
    version: 1,
    isFlexible: false,
    request: struct({ ...transaction, commit: boolean }),
    response: outcome,
  },
  txnOffsetCommit1: {
    key: 28,
    version: 1,
    isFlexible: false,
    request: struct({
      transactionalId: string,
      groupId: string,
      producerId: int64,
      producerEpoch: int16,
      topics: topicsOf({ partition: int32, offset: int64, metadata: nullableString }),
    }),
    response: struct({ throttle, topics: topicsOf({ partition: int32, error }) }),
  },
  describeConfigs2: {
    key: 32,
    version: 2,
    isFlexible: false,
    request: struct({
      resources: list(struct({ type: int8, name: string, names: nullableList(string) })),
      includeSynonyms: boolean,
    }),
    response: struct({
      throttle,
      resources: list(
        struct({
          error,
          errorMessage: nullableString,
          type: int8,
          name: string,
          entries: list(
            struct({
              name: string,
              value: nullableString,
              isReadOnly: boolean,
              source: int8,
              isSensitive: boolean,
              synonyms: list(struct({ name: string, value: nullableString, source: int8 })),
            }),
          ),
        }),
      ),
    }),
  },
  deleteGroups1: {
    key: 42,
    version: 1,
    isFlexible: false,
    request: struct({ groups: list(string) }),
    response: struct({ throttle, results: list(struct({ groupId: string, error })) }),
  },
} as const satisfies Readonly<Record<string, Message>>;

interface Message {
  readonly key: number;
  readonly version: number;
  /** Headers of flexible versions end with their tagged fields. */
  readonly isFlexible: boolean;
  readonly request: Pick<Type<unknown>, "read">;
  readonly response: { readonly write: (writer: never, value: never) => void };
}

export type MessageName = keyof typeof messages;
export type Request<Name extends MessageName> = Value<(typeof messages)[Name]["request"]>;
export type Response<Name extends MessageName> = Value<(typeof messages)[Name]["response"]>;
