import type { ImpactResult } from "../../../schemas/impact.ts";
import { nameRecord, readEvents } from "../../service/impact.ts";
import { toImpactClient } from "../../service/impact-preview.ts";
import { Backtest } from "../../plans/impact/backtest.ts";
import type { ImpactChange } from "../../plans/impact/changes.ts";
import { ImpactCounts } from "../../plans/impact/counts.ts";
import type { EventSink, ReadEvent } from "../../plans/impact/events.ts";
import { toImpactResult, toReadEvent, type ReadResult } from "../../plans/impact/result.ts";
import type { EventSelection } from "../../plans/impact/selection.ts";
import {
  ConfigurationError,
  exitCodes,
  formatFaults,
  RejectionError,
  UnavailableError,
} from "../../lib/errors.ts";
import type { OffsetRange } from "../../kafka/interface/records.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { formatCount } from "../output/format.ts";
import { printBacktest, printImpact } from "../output/impact-view.ts";
import { openOutput, printError, printJson } from "../output/output.ts";
import { createLongProgress, createTopicProgress, type Progress } from "../output/progress.ts";
import { readEventFile } from "../input/event-file.ts";
import { readFileChanges, readTopicChange, type ChangedFilters } from "./impact-changes.ts";
import { warnSkipped } from "./pick-topics.ts";

/** Which events are read. */
export interface EventFlags {
  readonly last?: number;
  readonly from?: number;
  readonly to?: number;
  readonly offsets?: readonly OffsetRange[];
  readonly events?: string;
  readonly kafkaTopic?: string;
}

export interface ImpactFlags extends EventFlags, ChangedFilters, JsonFlag {
  readonly examples: number;
  readonly all?: true;
}

const defaultLast = 100_000;
/** With fewer events there is no progress bar. */
const minProgress = 50_000;

/** Runs `topics impact`, with a Kafka client of its own. */
export const runImpact = (paths: readonly string[], flags: ImpactFlags): Promise<void> =>
  runWithContext((context) => (flags.all ? backtest(context, flags) : preview(context, paths, flags)), {
    adjust: (config) => ({ ...config, kafka: toImpactClient(config.kafka) }),
  });

async function preview(context: CommandContext, paths: readonly string[], flags: ImpactFlags): Promise<void> {
  const changes =
    flags.topic === undefined
      ? await readFileChanges(context, paths)
      : await readTopicChange(context, { ...flags, topic: flags.topic });
  if (changes === undefined) {
    process.exitCode = exitCodes.rejected;
    return;
  }
  const result = await compareChanges(context, changes, flags);
  if (flags.json) printJson(result);
  else await printImpact(openOutput(), result);
}

/**
 * Compares old and new filters on events, and records in the audit log that values of events are shown.
 * Throws RejectionError, ConfigurationError and UnavailableError.
 */
export async function compareChanges(
  context: CommandContext,
  changes: readonly ImpactChange[],
  flags: EventFlags & { readonly examples: number },
): Promise<ImpactResult> {
  const maxExamples = flags.examples;
  if (flags.events === undefined) context.audit()(toReadEvent({ changes }));
  const counts = new ImpactCounts(changes, { maxExamples, nameEvent: createNames(context, flags) });
  return toImpactResult(counts, await readSelected(context, counts, flags));
}

/** Counts the events of every stored topic. */
async function backtest(context: CommandContext, flags: ImpactFlags): Promise<void> {
  const { topicReader } = await context.services();
  const counts = new Backtest();
  const progress = createTopicProgress("reading topics", await topicReader.estimateCount());
  let topics = 0;
  for await (const topic of topicReader.streamPickable()) {
    if (context.abort.aborted) throw new UnavailableError(`stopped after ${formatCount(topics, "topic")}`);
    topics += 1;
    progress.at(topics);
    counts.addTopic(topic);
  }
  progress.end(`read ${formatCount(topics, "topic")}`);
  warnSkipped(counts.invalid);
  const read = await readSelected(context, counts, flags);
  await printBacktest(openOutput(), { counts, read, json: flags.json === true });
}

function createNames(context: CommandContext, flags: EventFlags): (event: ReadEvent) => string {
  const { events } = flags;
  return events === undefined
    ? nameRecord(getKafkaTopic(context, flags))
    : ({ offset }) => `${events}:${offset}`;
}

function getKafkaTopic({ config }: CommandContext, { kafkaTopic }: EventFlags): string {
  const topic = kafkaTopic ?? config.kafka.router?.topic;
  if (topic !== undefined) return topic;
  throw new ConfigurationError(
    "no events to read: set KAFKA_EVENTS_TOPIC to the Kafka topic that has them, or use --kafka-topic or --events",
  );
}

async function readSelected(
  context: CommandContext,
  sink: EventSink,
  flags: EventFlags,
): Promise<ReadResult> {
  const { kafka } = context.config;
  if (flags.events !== undefined)
    return readEventFile(flags.events, sink, { ...kafka, abort: context.abort });
  const topic = getKafkaTopic(context, flags);
  const { findReplayKey } = await context.services();
  const source = {
    ...{ kafka: await context.broker(), topic, maxEventBytes: kafka.maxEventBytes },
    proofKey: await findReplayKey(),
  };
  let progress: Progress | undefined;
  const options = {
    selection: toSelection(flags),
    abort: context.abort,
    onProgress(done: number, total: number) {
      progress ??= createLongProgress("reading events", total, minProgress);
      progress.at(done);
    },
  };
  const read = await readEvents(source, sink, options).catch((error: unknown) => {
    if (!(error instanceof RejectionError)) throw error;
    const { code, message, details } = error;
    throw new RejectionError(code, `${message} ${formatFaults(details, "The selection")}`, details);
  });
  progress?.end(`read ${formatCount(read.counts.records, "record")}`);
  warnRejected(read);
  return read;
}

function toSelection({ last = defaultLast, from, to, offsets }: EventFlags): EventSelection {
  if (offsets !== undefined) return { kind: "offsets", ranges: offsets };
  if (from !== undefined || to !== undefined) return { kind: "time", from, to };
  return { kind: "last", count: last };
}

function warnRejected({ counts: { events, records } }: ReadResult): void {
  if (records > 0 && events === 0) printError("warning: none of the records is an event");
}
