import { identifyTopic } from "../../consumers/announcements/decode.ts";
import type { DeadLetterChannel } from "../../schemas/dead-letters.ts";
import type { ConsumerChannel, KafkaConfig } from "../config.ts";
import {
  createDeadLetterService,
  type DeadLetterLimits,
  type DeadLetterService,
} from "../dead-letters/service.ts";
import type { Broker } from "../kafka/client.ts";
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
export interface DeadLetterServices {
  readonly announcements: DeadLetterService;
  readonly "push-feedback"?: DeadLetterService;
}

export function createDeadLetterServices(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback }: KafkaConfig,
  { database, broker, ...options }: DeadLetterServicesOptions,
): DeadLetterServices {
  const replays = createReplayStore(database);

  const create = (
    channel: DeadLetterChannel,
    { topic, deadLetterTopic, groupId }: ConsumerChannel,
  ): DeadLetterService =>
    createDeadLetterService({
      ...options,
      channel,
      topic,
      deadLetterTopic,
      reader: broker,
      createProducer: () => broker.createProducer(topic),
      replays,
      sync: createSyncState(database, groupId),
      identify: identifyTopic,
    });

  return {
    announcements: create("announcements", { topic, deadLetterTopic, groupId }),
    ...(pushFeedback && { "push-feedback": create("push-feedback", pushFeedback) }),
  };
}
