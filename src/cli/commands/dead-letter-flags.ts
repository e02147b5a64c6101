import { InvalidArgumentError, Option, type Command } from "commander";

import { createDeadLetters } from "../../service/dead-letters.ts";
import { deadLetterCodes, type DeadLetterCode } from "../../dead-letters/dead-letter.ts";
import type { DeadLetterFilter } from "../../dead-letters/stores.ts";
import type { DeadLetterService } from "../../dead-letters/service.ts";
import { ConfigurationError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { parseDuration } from "../input/options.ts";
import { createLongProgress, type Progress } from "../output/progress.ts";

export interface ChannelFlags {
  readonly pushFeedback?: true;
  readonly events?: true;
}

/** Adds the options that select the channel. */
export const withChannel = (command: Command): Command =>
  command
    .option("--push-feedback", "dead letters of the push feedback topic instead of the announcements topic")
    .addOption(new Option("--events", "dead letters of the events topic instead").conflicts("pushFeedback"));

export interface FilterFlags {
  readonly code?: DeadLetterCode[];
  readonly id?: string[];
  /** Milliseconds. */
  readonly newerThan?: number;
  readonly olderThan?: number;
}

/** Adds the options that filter dead letters. */
export const withFilter = (command: Command): Command =>
  command
    .addOption(
      new Option("--code <code...>", "only with one of these codes")
        .choices(deadLetterCodes)
        .argParser(collectCode),
    )
    .option(
      "--newer-than <duration>",
      "only records written within this time: 45s, 30m, 2h, 7d",
      parseDuration,
    )
    .option("--older-than <duration>", "only records older than this", parseDuration);

/** The conditions of the flags. Commands see all namespaces. */
export function toDeadLetterFilter({
  code: codes,
  id: ids,
  newerThan,
  olderThan,
}: FilterFlags): Omit<DeadLetterFilter, "namespaces"> {
  const now = Date.now();
  return {
    ...(codes && { codes: new Set(codes) }),
    ...(ids && { ids: new Set(ids) }),
    ...(newerThan !== undefined && { from: now - newerThan }),
    ...(olderThan !== undefined && { to: now - olderThan }),
  };
}

function collectCode(given: string, previous: DeadLetterCode[] = []): DeadLetterCode[] {
  const known = deadLetterCodes.find((one) => one === given);
  if (known === undefined) throw new InvalidArgumentError(`Known codes are ${deadLetterCodes.join(", ")}.`);
  return [...previous, known];
}

const longRead = 10_000;

/** Opens the dead letters of the selected channel. Throws ConfigurationError if it is not consumed. */
export async function openDeadLetters(
  { config, broker, services, abort, log }: CommandContext,
  { pushFeedback, events }: ChannelFlags,
): Promise<DeadLetterService> {
  let progress: Progress | undefined;
  const deadLetters = createDeadLetters(config.kafka, {
    broker: await broker(),
    services: await services(),
    abort,
    log,
    onProgress(read, total) {
      progress ??= createLongProgress("reading dead letters", total, longRead);
      progress.at(read);
      if (read === total) progress.end(`read ${total} dead letters`);
    },
  });
  const service = deadLetters.services[events ? "events" : pushFeedback ? "push-feedback" : "announcements"];
  if (service !== undefined) return service;
  throw new ConfigurationError(
    events
      ? "events are not forwarded: KAFKA_EVENTS_TOPIC is not set"
      : "push feedback is not consumed: KAFKA_PUSH_FEEDBACK_TOPIC is not set",
  );
}
