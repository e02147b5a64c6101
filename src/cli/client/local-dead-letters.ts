import type { DeadLetterServices } from "../../operations/framework/services.ts";
import type { CommandContext } from "../context.ts";
import { createLongProgress, type Progress } from "../output/progress.ts";

/** Reading fewer shows no progress. */
const longRead = 10_000;

/** The dead letters of the settings' Kafka. This process reads new ones while no service does. */
export async function openDeadLetters({
  config,
  broker,
  services,
  abort,
  log,
}: CommandContext): Promise<DeadLetterServices> {
  let progress: Progress | undefined;
  // Slow to load, and most commands do not need it.
  const { createDeadLetters } = await import("../../service/dead-letters.ts");
  return createDeadLetters(config.kafka, {
    broker: await broker(),
    services: await services(),
    abort,
    log,
    onProgress(read, total) {
      progress ??= createLongProgress("reading dead letters", total, longRead);
      progress.at(read);
      if (read === total) progress.end(`read ${total} dead letters`);
    },
  }).services;
}
