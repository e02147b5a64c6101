/** Requests and responses about topics and their logs. */
import { compactTopicsWith, topicsWith, topicsWithNumbers, throttle, error } from "./fields.ts";
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
} from "./format.ts";

const fetchLimits = {
  replicaId: int32,
  maxWaitMs: int32,
  minBytes: int32,
  maxBytes: int32,
  isolationLevel: int8,
  sessionId: int32,
  sessionEpoch: int32,
};
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

export const topicMessages = {
  produce7: {
    key: 0,
    version: 7,
    isFlexible: false,
    request: struct({
      transactionalId: nullableString,
      acks: int16,
      timeout: int32,
      topics: topicsWith({ partition: int32, records: bytes }),
    }),
    response: struct({
      topics: topicsWith({
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
      ...fetchLimits,
      topics: topicsWith({
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
      topics: topicsWith({
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
      ...fetchLimits,
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
      topics: topicsWith({ partition: int32, timestamp: int64 }),
    }),
    response: struct({
      throttle,
      topics: topicsWith({ partition: int32, error, timestamp: int64, offset: int64 }),
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
  describeProducers0: {
    key: 61,
    version: 0,
    isFlexible: true,
    request: tagged({
      topics: compactList(tagged({ topic: compactString, partitions: compactList(int32) })),
    }),
    response: tagged({
      throttle,
      topics: compactTopicsWith({
        partition: int32,
        error,
        errorMessage: nullableCompactString,
        producers: compactList(
          tagged({
            producerId: int64,
            producerEpoch: int32,
            lastSequence: int32,
            lastTimestamp: int64,
            coordinatorEpoch: int32,
            transactionStart: int64,
          }),
        ),
      }),
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
} as const;
