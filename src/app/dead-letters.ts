import { identifyTopic } from "../../consumers/announcements/decode.ts";
import type { LetterChannel } from "../../schemas/dead-letters.ts";
import type { Channel, KafkaConfig } from "../config.ts";
import { createDeadLetterOffice, type DeadLetterOffice } from "../dead-letters/office.ts";
import type { Broker } from "../kafka/client.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import { createReplayStore } from "../storage/replays.ts";
import { createSyncState } from "../storage/sync-state.ts";
import type { Database } from "../storage/database.ts";

export interface OfficeNeeds {
  readonly database: Database;
  readonly broker: Broker;
  readonly lifecycle: Lifecycle;
  readonly abort: AbortSignal;
}

/** Wires the dead letters of each channel that is read, for whoever looks at them over HTTP. */
export function createDeadLetterOffices(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback }: KafkaConfig,
  { database, broker, lifecycle, abort }: OfficeNeeds,
): Readonly<Partial<Record<LetterChannel, DeadLetterOffice>>> {
  const replays = createReplayStore(database);

  function officeOf(channel: LetterChannel, { topic, deadLetterTopic, groupId }: Channel): DeadLetterOffice {
    const writer = broker.writer(topic);
    lifecycle.onStop(`replays of the ${channel}`, () => writer.close());
    const sync = createSyncState(database, groupId);
    return createDeadLetterOffice({
      channel,
      topic,
      deadLetterTopic,
      reader: broker,
      writer,
      replays,
      sync,
      identify: identifyTopic,
      abort,
    });
  }

  return {
    announcements: officeOf("announcements", { topic, deadLetterTopic, groupId }),
    ...(pushFeedback && { "push-feedback": officeOf("push-feedback", pushFeedback) }),
  };
}
