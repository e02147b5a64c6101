import { getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import { elapsed, sleep } from "@topicsync/lib/platform";
import { hasType, toKafkaError } from "../errors.ts";
import { fetchMetadata, type Cluster } from "../log-requests.ts";
import { requestTopicCreation, type NewTopic } from "../protocol/create-topics.ts";
import { errorCodes } from "../protocol/error-codes.ts";
import { createError, failOnError } from "../protocol/request.ts";

/** Why a Kafka topic is not created, unless that may be different in a moment. */
const finalRefusals = [
  "INVALID_TOPIC_EXCEPTION",
  "POLICY_VIOLATION",
  "INVALID_CONFIG",
  "INVALID_PARTITIONS",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
];

interface TopicRefusal {
  /** The error code with the broker's words. */
  readonly reason: string;
  readonly error: Error;
  readonly isFinal: boolean;
}

/** What became of a Kafka topic that was to be created. */
export interface TopicCreation {
  readonly name: string;
  /** False if it existed already. */
  readonly isCreated: boolean;
  readonly refusal: TopicRefusal | undefined;
}

/** How long to wait for the leaders of new partitions. */
const leaderTimeoutMs = 5_000;
const pollMs = 100;

/** What earlier attempts of a creation have done. */
export interface EarlierAttempts {
  /** Whether one may have created the Kafka topics: its response was lost, or something after it failed. */
  mayHaveCreated: boolean;
}

/** See KafkaRequests. Throws kafkajs' errors. */
export async function createTopics(
  cluster: Cluster,
  topics: readonly NewTopic[],
  earlier: EarlierAttempts,
): Promise<readonly TopicCreation[]> {
  // Another broker may have become the controller.
  await cluster.refreshMetadata();
  const controller = await cluster.findControllerBroker();
  const { mayHaveCreated } = earlier;
  earlier.mayHaveCreated = true;
  const results = await requestTopicCreation(controller, topics);
  if (results.some(({ error }) => error === errorCodes.notController)) {
    earlier.mayHaveCreated = mayHaveCreated;
    failOnError(errorCodes.notController);
  }
  const creations = results.map(({ name, error, message }) =>
    toCreation(name, mayHaveCreated && error === errorCodes.topicAlreadyExists ? 0 : error, message),
  );
  await awaitLeaders(
    cluster,
    creations.filter(({ isCreated }) => isCreated).map(({ name }) => name),
  );
  return creations;
}

function toCreation(name: string, code: number, message: string | null): TopicCreation {
  // After a timeout, the controller goes on.
  const isCreated = code === 0 || code === errorCodes.requestTimedOut;
  if (isCreated || code === errorCodes.topicAlreadyExists) return { name, isCreated, refusal: undefined };
  const error = createError(code);
  const { type } = error;
  const reason = `${message ?? getErrorMessage(error)} (${type})`;
  return { name, isCreated, refusal: { reason, error, isFinal: hasType(error, ...finalRefusals) } };
}

/** A producer cannot use a partition before it has a leader. Its first request would fail. */
async function awaitLeaders(cluster: Cluster, names: readonly string[]): Promise<void> {
  for (const startedAt = elapsed(); names.length > 0 && elapsed() - startedAt < leaderTimeoutMs;) {
    if (await haveLeaders(cluster, names)) return;
    await sleep(pollMs);
  }
}

async function haveLeaders(cluster: Cluster, names: readonly string[]): Promise<boolean> {
  try {
    const { topics } = await fetchMetadata(cluster, names);
    return topics.every(
      ({ error, partitions }) => error === 0 && partitions.every(({ leader }) => leader >= 0),
    );
  } catch (error) {
    // The topics are created, and would not count if each repetition failed, too.
    if (toKafkaError(error) instanceof UnavailableError) return false;
    throw error;
  }
}
