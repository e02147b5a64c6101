import type { ConsumerChannel, KafkaConfig } from "@topicsync/kafka";
import type { Broker } from "@topicsync/kafka/client";
import type { Logger } from "@topicsync/lib/logger";
import { findNamespace, identifyTopic } from "../../consumers/announcements/decode.ts";
import type { DeadLetterChannel } from "../../schemas/dead-letters/dead-letter.ts";
import { createDeadLetterProgress } from "../dead-letters/progress.ts";
import { createDeadLetterService, type DeadLetterService } from "../dead-letters/service.ts";
import type { SyncState } from "../dead-letters/stores.ts";
import { DeadLetterConsumer, readToEnd } from "./kafka/dead-letter-consumer.ts";
import type { Services } from "./services.ts";

export interface DeadLettersOptions {
  readonly services: Services;
  readonly broker: Broker;
  readonly abort: AbortSignal;
  readonly log: Logger;
  /**
   * For commands: each call waits as long as it takes until all dead letters are stored, and reads them
   * itself while no service does. Called with the number of records. Undefined: calls wait a few seconds for
   * those that `start` reads.
   */
  readonly onProgress?: (read: number, total: number) => void;
}

/** The dead letters of each channel that is consumed. */
export interface DeadLetters {
  readonly services: Readonly<Partial<Record<DeadLetterChannel, DeadLetterService>>> & {
    readonly announcements: DeadLetterService;
  };
  /** Reads the dead-letter topics into the database. Returns the function that stops it. */
  start(): () => Promise<void>;
}

/** How long a request waits. */
const readTimeoutMs = 10_000;

/** Creates the services. Nothing is read before the first call, or `start`. */
export function createDeadLetters(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback, router }: KafkaConfig,
  { services, broker, abort, log, onProgress }: DeadLettersOptions,
): DeadLetters {
  const { deadLetterStore: store, logStore: logs, replayStore: replays } = services;
  const starts: (() => DeadLetterConsumer)[] = [];

  function create(
    channel: DeadLetterChannel,
    { topic, deadLetterTopic, groupId: channelGroupId }: ConsumerChannel,
    sync: SyncState = services.createSyncState(channelGroupId),
  ): DeadLetterService {
    const letters = services.createDeadLetterReader(deadLetterTopic);
    const identify = channel === "events" ? () => undefined : identifyTopic;
    const concernsTopics = channel === "announcements";
    const read = { topic: deadLetterTopic, groupId: `${groupId}.dead-letters.${channel}` };
    const watch = broker.watch(deadLetterTopic);
    const progress = createDeadLetterProgress({
      ...read,
      kafka: broker,
      watch,
      positions: store,
      letters,
      abort,
    });
    const reading = {
      ...{ ...read, consumer: `dead-letters.${channel}`, broker, store, logs, progress, identify, log },
      findNamespace: concernsTopics ? findNamespace : () => undefined,
      getProofKey: services.getReplayKey,
    };
    let consumer: DeadLetterConsumer | undefined;
    starts.push(() => (consumer = new DeadLetterConsumer(reading)));
    return createDeadLetterService({
      channel,
      topic,
      deadLetterTopic,
      kafka: broker,
      letters,
      waitUntilStored: () =>
        onProgress === undefined ? progress.waitUntilStored(readTimeoutMs) : readToEnd(reading, onProgress),
      getProblem: () => consumer?.failure,
      createProducer: () => broker.createProducer(topic),
      replays,
      sync,
      identify,
      getProofKey: services.getReplayKey,
      // The router trusts no header of events, which anybody may write who may produce them.
      provesReplays: channel === "events",
      abort,
    });
  }

  const channels = {
    announcements: create("announcements", { topic, deadLetterTopic, groupId }),
    ...(pushFeedback && { "push-feedback": create("push-feedback", pushFeedback) }),
    ...(router && { events: create("events", router, createRouterState(broker, router)) }),
  };
  return {
    services: channels,
    start() {
      const consumers = starts.map((start) => start());
      return async () => {
        await Promise.all(consumers.map((consumer) => consumer.stop()));
      };
    },
  };
}

/** The router's positions are committed offsets, and events do not concern topics. */
const createRouterState = (broker: Broker, { topic, groupId }: ConsumerChannel): SyncState => ({
  async findPositions() {
    const positions = await broker.fetchCommittedOffsets({ topic, groupId });
    return [...positions].map(([partition, position]) => ({ topic, partition, ...position }));
  },
  findTopics: () => Promise.resolve([]),
  findForeign: () => Promise.resolve(new Set()),
});
