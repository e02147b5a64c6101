import { ConfigurationError, formatFaults, PlanError, RejectionError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { maxImpactChanges, type ImpactResult } from "../../../../schemas/impact.ts";
import { kafkaSettings } from "../../../../schemas/kafka-settings.ts";
import { previewImpact } from "../../../operations/impact.ts";
import type { ImpactChange } from "../../../plans/impact/changes.ts";
import { ImpactCounts } from "../../../plans/impact/counts.ts";
import type { EventSink, ReadResult } from "../../../plans/impact/events.ts";
import { toReadEvent } from "../../../plans/impact/preview.ts";
import { ReadTally } from "../../../plans/impact/read-tally.ts";
import type { EventSelection } from "../../../plans/impact/selection.ts";
import { nameRecord, readEvents } from "../../../service/impact/read-events.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import type { CommandContext } from "../../context.ts";
import { readEventFile } from "../../input/event-file.ts";
import { formatCount } from "../../output/format.ts";
import { printError } from "../../output/output.ts";
import { createLongProgress, type Progress } from "../../output/progress.ts";

/** Which events are read. */
export interface EventFlags extends EventSelection {
  readonly events?: string;
  readonly kafkaTopic?: string;
}

/** Where events are read: the Kafka topic of the settings, or without a context that of the server. */
export interface PreviewPlace {
  readonly client: OperationClient;
  readonly context: CommandContext | undefined;
}

/** New filters of a topic. */
export interface ProposedChange extends ImpactChange {
  /** The external id that the stored topic has; absent unless the change renames it. */
  readonly storedAs?: string;
  readonly namespace: string | undefined;
}

/** With fewer events there is no progress bar. */
const minProgress = 50_000;

/**
 * Compares old and new filters on events, and records in the audit log that values of events are shown.
 * Throws RejectionError, RequestError, PlanError, ConfigurationError and UnavailableError.
 */
export async function previewChanges(
  place: PreviewPlace,
  changes: readonly ProposedChange[],
  flags: EventFlags & { readonly examples: number },
): Promise<ImpactResult> {
  const { context } = place;
  if (changes.length === 0) {
    // Nothing is read where nothing is to be compared.
    const none = new ImpactCounts([], { maxExamples: 0, nameEvent: () => "" });
    return none.toResult({ complete: true, read: new ReadTally(none).describe() });
  }
  if (context === undefined && flags.events === undefined) return previewOnServer(place, changes, flags);
  if (flags.events === undefined) context?.audit()(toReadEvent({ changes }));
  const { events, examples: maxExamples } = flags;
  const nameEvent =
    events === undefined
      ? nameRecord(getKafkaTopic(place, flags))
      : ({ offset }: { readonly offset: number }) => `${events}:${offset}`;
  const counts = new ImpactCounts(changes, { maxExamples, nameEvent });
  return counts.toResult(await readSelected(place, counts, flags));
}

/** Lets the server compare the changes with what it has stored. */
async function previewOnServer(
  { client }: PreviewPlace,
  changes: readonly ProposedChange[],
  { last, from, to, offsets, kafkaTopic, examples }: EventFlags & { readonly examples: number },
): Promise<ImpactResult> {
  if (kafkaTopic !== undefined) throw createServerError("--kafka-topic");
  if (changes.length > maxImpactChanges)
    throw new PlanError(
      `The filters of ${changes.length} topics change, and a server compares at most ${maxImpactChanges}. Give fewer files at a time, or use the database.`,
    );
  const toText = (time: number | undefined) =>
    time === undefined ? undefined : new Date(time).toISOString();
  const body = {
    ...{ last, from: toText(from), to: toText(to), offsets: offsets && [...offsets], examples },
    changes: changes.map(({ externalId, storedAs = externalId, namespace, after }) =>
      after === undefined
        ? { externalId: storedAs, disable: true }
        : {
            externalId: storedAs,
            namespace,
            headerQuery: after.headerQuery,
            contentQuery: after.contentQuery,
          },
    ),
  };
  const { json: result } = await client.call<ImpactResult>(previewImpact, { body });
  const topics = result.topics.map((topic, at) => ({
    ...topic,
    externalId: changes[at]?.externalId ?? topic.externalId,
  }));
  return { ...result, topics };
}

const createServerError = (option: string): ConfigurationError =>
  new ConfigurationError(
    `a server cannot do this with ${option}: leave it out, use --events, or run the command without a server.`,
  );

/** Throws a ConfigurationError unless all events can be read. */
export function requireKafkaOrFile({ context }: PreviewPlace, { events }: EventFlags): void {
  if (context === undefined && events === undefined) throw createServerError("--all");
}

function getKafkaTopic({ context }: PreviewPlace, { kafkaTopic }: EventFlags): string {
  const topic = kafkaTopic ?? context?.config.kafka.router?.topic;
  if (topic !== undefined) return topic;
  throw new ConfigurationError(
    "no events to read: set KAFKA_EVENTS_TOPIC to the Kafka topic that has them, or use --kafka-topic or --events",
  );
}

/** Reads the selected events, of a file or of a Kafka topic. */
export async function readSelected(
  place: PreviewPlace,
  sink: EventSink,
  flags: EventFlags,
): Promise<ReadResult> {
  const { client, context } = place;
  if (flags.events !== undefined)
    return readEventFile(flags.events, sink, {
      maxEventBytes: context?.config.kafka.maxEventBytes ?? kafkaSettings.KAFKA_MAX_EVENT_BYTES.default,
      abort: client.abort,
    });
  invariant(context !== undefined, "a server reads events itself");
  const { kafka } = context.config;
  const topic = getKafkaTopic(place, flags);
  const { findReplayKey } = await context.services();
  const source = {
    ...{ kafka: await context.broker(), topic, maxEventBytes: kafka.maxEventBytes },
    proofKey: await findReplayKey(),
  };
  let progress: Progress | undefined;
  const options = {
    selection: flags,
    abort: client.abort,
    onProgress(done: number, total: number) {
      progress ??= createLongProgress("reading events", total, minProgress);
      progress.at(done);
    },
  };
  const result = await readEvents(source, sink, options).catch((error: unknown) => {
    if (!(error instanceof RejectionError)) throw error;
    const { code, message, details } = error;
    throw new RejectionError(code, `${message} ${formatFaults(details, "The selection")}`, details);
  });
  const { events, records } = result.read;
  progress?.end(`read ${formatCount(records, "record")}`);
  if (records > 0 && events === 0) printError("warning: none of the records is an event");
  return result;
}
