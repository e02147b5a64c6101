import type { Event } from "../../../schemas/pick.ts";
import { readEvent, readLastEvents } from "../../service/event-reader.ts";
import { ConfigurationError, exitCodes, UnavailableError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { readLines } from "../input/files.ts";
import type { JsonFlag } from "../input/options.ts";
import { formatCount } from "../output/format.ts";
import { printError, printJson, printLine } from "../output/output.ts";

export interface LearnFlags extends JsonFlag {
  readonly last?: number;
}

/** Learns from files with one event per line, or from the end of the events topic. */
export async function learnEvents(
  context: CommandContext,
  files: readonly string[],
  { last, json }: LearnFlags,
): Promise<void> {
  const { eventTypes } = await context.services();
  const result = await eventTypes.learnAll(
    last === undefined ? readFiles(files, context.abort) : readLast(context, last),
  );
  const { events, types, rejected } = result;
  if (json) printJson(result);
  else printLine(`learned from ${formatCount(events, "event")} of ${formatCount(types, "type")}`);
  if (rejected === 0) return;
  printError(`${formatCount(rejected, files.length > 0 ? "line" : "record")} skipped: not a valid event`);
  if (files.length > 0) process.exitCode = exitCodes.rejected;
}

async function* readFiles(files: readonly string[], abort: AbortSignal): AsyncGenerator<Event | undefined> {
  for (const file of files)
    for await (const { text, number } of readLines(file)) {
      if (abort.aborted) throw new UnavailableError(`stopped at line ${number} of ${file}`);
      if (text.trim() !== "") yield parseLine(text);
    }
}

function parseLine(text: string): Event | undefined {
  const read = readEvent(text);
  return read instanceof Error ? undefined : read.event;
}

async function* readLast(
  { config, broker, abort }: CommandContext,
  count: number,
): AsyncGenerator<Event | undefined> {
  const { router, maxEventBytes } = config.kafka;
  if (router === undefined) throw new ConfigurationError("--last needs KAFKA_EVENTS_TOPIC");
  yield* readLastEvents(await broker(), { topic: router.topic, maxEventBytes, count, abort });
}
