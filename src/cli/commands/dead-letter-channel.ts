import type { Command } from "commander";

import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import type { ConsumerChannel, KafkaConfig } from "../../config.ts";
import { openDeadLetters, type DeadLetters } from "../../dead-letters/browse.ts";
import { ConfigurationError } from "../../lib/errors.ts";
import { createReplayStore } from "../../storage/replays.ts";
import { createSyncState } from "../../storage/sync-state.ts";
import type { CommandContext } from "../context.ts";

/** The option that chooses whose dead letters are meant. */
export interface ChannelFlags {
  readonly pushFeedback?: true;
}

/** Adds the option that chooses whose dead letters are meant. */
export const withChannel = (command: Command): Command =>
  command.option("--push-feedback", "of the push feedback topic, instead of the announcements topic");

/** The topic that was chosen. Throws ConfigurationError when no push feedback is set. */
export function getChannel(
  { announcementsTopic: topic, deadLetterTopic, groupId, pushFeedback }: KafkaConfig,
  flags: ChannelFlags,
): ConsumerChannel {
  if (!flags.pushFeedback) return { topic, deadLetterTopic, groupId };
  if (pushFeedback !== undefined) return pushFeedback;
  throw new ConfigurationError("no push feedback is read: KAFKA_PUSH_FEEDBACK_TOPIC is not set");
}

/** The letters of the chosen dead-letter topic; none when there is no such topic yet. Throws UnavailableError. */
export async function openLetters(
  { config, broker, database, abort }: CommandContext,
  flags: ChannelFlags,
): Promise<DeadLetters> {
  const { deadLetterTopic: topic, groupId } = getChannel(config.kafka, flags);
  const kafka = await broker();
  const exists = (await kafka.bounds(topic)) !== undefined;
  const store = await database();
  const log = {
    topic,
    identify: identifyTopic,
    read: () => (exists ? kafka.read(topic, { abort }) : nothing()),
  };
  return openDeadLetters(log, {
    replays: createReplayStore(store),
    sync: createSyncState(store, groupId),
  });
}

// eslint-disable-next-line @typescript-eslint/require-await -- a log without records
async function* nothing(): AsyncGenerator<never> {
  yield* [];
}
