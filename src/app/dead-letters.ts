import { identifyTopic } from "../../consumers/announcements/decode.ts";
import type { DeadLetterChannel } from "../../schemas/dead-letter-api.ts";
import type { ConsumerChannel, KafkaConfig } from "../kafka-config.ts";
import type { SyncState } from "../dead-letters/stores.ts";
import {
  createDeadLetterService,
  type DeadLetterLimits,
  type DeadLetterService,
} from "../dead-letters/service.ts";
import type { Broker } from "../kafka/client.ts";
import { createReplayKey } from "../storage/replay-key.ts";
import { createReplayStore } from "../storage/replays.ts";
import { createSyncState } from "../storage/sync-state.ts";
import type { Database } from "../storage/database.ts";

export interface DeadLetterServicesOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly abort: AbortSignal;
  readonly limits?: DeadLetterLimits;
}

/** One service per consumed channel. */
export interface DeadLettersByChannel {
  readonly announcements: DeadLetterService;
  readonly "push-feedback"?: DeadLetterService;
  readonly events?: DeadLetterService;
}

export function createDeadLetterServices(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback, router }: KafkaConfig,
  { database, broker, ...options }: DeadLetterServicesOptions,
): DeadLettersByChannel {
  const replays = createReplayStore(database);

  const create = (
    channel: DeadLetterChannel,
    { topic, deadLetterTopic, groupId }: ConsumerChannel,
    sync: SyncState = createSyncState(database, groupId),
  ): DeadLetterService =>
    createDeadLetterService({
      ...options,
      channel,
      topic,
      deadLetterTopic,
      reader: broker,
      createProducer: () => broker.createProducer(topic),
      replays,
      sync,
      identify: channel === "events" ? () => undefined : identifyTopic,
      // The router trusts no header of events, which anybody may write who may produce them.
      getProofKey: channel === "events" ? createReplayKey(database) : undefined,
    });

  return {
    announcements: create("announcements", { topic, deadLetterTopic, groupId }),
    ...(pushFeedback && { "push-feedback": create("push-feedback", pushFeedback) }),
    ...(router && { events: create("events", router, createRouterState(broker, router)) }),
  };
}

/** The router's positions are committed offsets, and events are not about topics. */
const createRouterState = (broker: Broker, { topic, groupId }: ConsumerChannel): SyncState => ({
  async findPositions() {
    const positions = await broker.fetchCommittedOffsets({ topic, groupId });
    return [...positions].map(([partition, { offset, epoch }]) => ({
      topic,
      partition,
      nextOffset: offset,
      epoch,
    }));
  },
  findTopics: () => Promise.resolve([]),
});
