import type { Event } from "../../../schemas/pick.ts";
import { readEvent, readLastEvents } from "../../app/event-reader.ts";
import { EventLearner } from "../../event-types/learner.ts";
import { ConfigurationError, exitCodes, UnavailableError } from "../../lib/errors.ts";
import { parseEvent } from "../../matching/filter/numbers.ts";
import type { CommandContext } from "../context.ts";
import { readLines, tryParseJson } from "../input/files.ts";
import type { JsonFlag } from "../input/options.ts";
import { formatCount } from "../output/format.ts";
import { printError, printJson, printLine } from "../output/output.ts";

export interface LearnFlags extends JsonFlag {
  readonly last?: number;
}

const eventsPerStore = 20_000;

/** Learns from files with one event per line, or from the end of the events topic. */
export async function learnEvents(
  context: CommandContext,
  files: readonly string[],
  { last, json }: LearnFlags,
): Promise<void> {
  const { config, services, abort } = context;
  const { eventTypes } = await services();
  const learner = new EventLearner({ keepsValues: config.eventLearning === "values", isLimited: false });
  const types = new Set<string>();
  const store = async (): Promise<void> => {
    for (const changes of learner.take()) {
      await eventTypes.record(changes);
      types.add(changes.name);
    }
  };

  let [events, rejected] = [0, 0];
  for await (const event of last === undefined ? readFiles(files) : readLast(context, last)) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(events, "event")}`);
    if (event === undefined) {
      rejected += 1;
      continue;
    }
    learner.learn(event);
    events += 1;
    if (events % eventsPerStore === 0) await store();
  }
  await store();
  if (json) printJson({ events, types: types.size, rejected });
  else printLine(`learned from ${formatCount(events, "event")} of ${formatCount(types.size, "type")}`);
  if (rejected === 0) return;
  printError(`${formatCount(rejected, files.length > 0 ? "line" : "record")} skipped: not a valid event`);
  if (files.length > 0) process.exitCode = exitCodes.rejected;
}

async function* readFiles(files: readonly string[]): AsyncGenerator<Event | undefined> {
  for (const file of files)
    for await (const { text } of readLines(file)) if (text.trim() !== "") yield parseLine(text);
}

function parseLine(text: string): Event | undefined {
  const json = tryParseJson(text, parseEvent);
  return json instanceof Error ? undefined : readEvent(json);
}

async function* readLast(
  { config, broker, abort }: CommandContext,
  count: number,
): AsyncGenerator<Event | undefined> {
  const { router } = config.kafka;
  if (router === undefined) throw new ConfigurationError("--last needs KAFKA_EVENTS_TOPIC");
  yield* readLastEvents(await broker(), router, { count, abort });
}
