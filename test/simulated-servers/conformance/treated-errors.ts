/** The errors of Kafka that the product treats by name, and how each is provoked on real brokers. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { loadPrivate } from "@topicsync/kafka/internals";
import { codes } from "../kafka/errors.ts";

type Row =
  /** A scene of cluster.long.test.ts provokes it. */
  | { readonly code: number }
  /** Another test with a real broker does, or none can. */
  | { readonly reason: string };

const denied: Row = {
  reason: "denials.long.test.ts has a broker with access control",
};

const rejectedLogin: Row = {
  reason: "sync/kafka-security.test.ts has a broker with logins",
};

export const treatedErrors: Readonly<Record<string, Row>> = {
  OFFSET_OUT_OF_RANGE: { code: codes.offsetOutOfRange },
  CORRUPT_MESSAGE: { code: codes.corruptMessage },
  UNKNOWN_TOPIC_OR_PARTITION: { code: codes.unknownTopicOrPartition },
  LEADER_NOT_AVAILABLE: {
    reason: "in Metadata while the only copy of a partition is away: cluster-failures.long.test.ts",
  },
  NOT_LEADER_OR_FOLLOWER: { code: codes.notLeader },
  INCONSISTENT_GROUP_PROTOCOL: { code: codes.inconsistentGroupProtocol },
  INVALID_GROUP_ID: { code: codes.invalidGroupId },
  INVALID_SESSION_TIMEOUT: { code: codes.invalidSessionTimeout },
  UNSUPPORTED_SASL_MECHANISM: rejectedLogin,
  ILLEGAL_SASL_STATE: rejectedLogin,
  SASL_AUTHENTICATION_FAILED: rejectedLogin,
  MESSAGE_TOO_LARGE: { code: codes.messageTooLarge },
  INVALID_TOPIC_EXCEPTION: { code: codes.invalidTopic },
  RECORD_LIST_TOO_LARGE: { code: codes.recordListTooLarge },
  TOPIC_AUTHORIZATION_FAILED: denied,
  GROUP_AUTHORIZATION_FAILED: denied,
  CLUSTER_AUTHORIZATION_FAILED: denied,
  INVALID_TIMESTAMP: { code: codes.invalidTimestamp },
  TOPIC_ALREADY_EXISTS: { code: codes.topicExists },
  INVALID_PARTITIONS: { code: codes.invalidPartitions },
  INVALID_CONFIG: { code: codes.invalidConfig },
  UNSUPPORTED_FOR_MESSAGE_FORMAT: {
    reason: "only for the message formats before 0.11, which Kafka 4.0 removed (KIP-724)",
  },
  POLICY_VIOLATION: {
    reason:
      "needs a class for create.topic.policy.class.name (ReplicationControlManager.createTopic), which Kafka does not bring",
  },
  INVALID_PRODUCER_EPOCH: { code: codes.invalidProducerEpoch },
  CONCURRENT_TRANSACTIONS: { code: codes.concurrentTransactions },
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: denied,
  OPERATION_NOT_ATTEMPTED: { code: codes.operationNotAttempted },
  INVALID_RECORD: { code: codes.invalidRecord },
  UNSTABLE_OFFSET_COMMIT: { code: codes.unstableOffsetCommit },
  UNKNOWN_TOPIC_ID: { code: codes.unknownTopicId },
  INCONSISTENT_TOPIC_ID: {
    reason:
      "while a broker's logs follow its metadata (BrokerMetadataPublisher.onMetadataUpdate): milliseconds that no request can prolong",
  },
};

const root = fileURLToPath(new URL("../../..", import.meta.url));
const sources = "{packages/kafka/!(test),src/{service,cli,dead-letters,routing},consumers}/**/*.ts";

/** The names of Kafka's errors in the code of the product, as texts or as keys. */
export function findTreatedErrors(): readonly string[] {
  const { errorCodes } = loadPrivate("protocol/error") as {
    readonly errorCodes: readonly { readonly type: string }[];
  };
  const types = new Set(errorCodes.map(({ type }) => type));
  const found = globSync(sources, { cwd: root }).flatMap((file) => {
    const code = readFileSync(`${root}/${file}`, "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
    return code.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [];
  });
  return [...new Set(found)].filter((name) => types.has(name)).toSorted();
}
