import { identifyTopic } from "../../consumers/announcements/decode.ts";
import type { DeadLetterChannel } from "../../schemas/dead-letters.ts";
import type { ConsumerChannel, KafkaConfig } from "../config.ts";
import { createDeadLetterService, type DeadLetterService } from "../dead-letters/service.ts";
import type { Broker } from "../kafka/client.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import { createReplayStore } from "../storage/replays.ts";
import { createSyncState } from "../storage/sync-state.ts";
import type { Database } from "../storage/database.ts";

export interface DeadLetterServicesOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly lifecycle: Lifecycle;
  readonly abort: AbortSignal;
}

/** Wires the dead letters of each channel that is read, for whoever looks at them over HTTP. */
export function createDeadLetterServices(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback }: KafkaConfig,
  { database, broker, lifecycle, abort }: DeadLetterServicesOptions,
): Readonly<Partial<Record<DeadLetterChannel, DeadLetterService>>> {
  const replays = createReplayStore(database);

  function createServiceForChannel(
    channel: DeadLetterChannel,
    { topic, deadLetterTopic, groupId }: ConsumerChannel,
  ): DeadLetterService {
    const producer = broker.producer(topic);
    lifecycle.onStop(`replays of the ${channel}`, () => producer.close());
    const sync = createSyncState(database, groupId);
    return createDeadLetterService({
      channel,
      topic,
      deadLetterTopic,
      reader: broker,
      producer,
      replays,
      sync,
      identify: identifyTopic,
      abort,
    });
  }

  return {
    announcements: createServiceForChannel("announcements", { topic, deadLetterTopic, groupId }),
    ...(pushFeedback && { "push-feedback": createServiceForChannel("push-feedback", pushFeedback) }),
  };
}
