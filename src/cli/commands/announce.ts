import type { Command } from "commander";

import { exitCodes } from "@topicsync/lib/errors";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import { sleep } from "@topicsync/lib/platform";
import { formatRecordPosition, type OutgoingRecord, type PartitionOffset } from "@topicsync/kafka";
import { parseDeadLetter } from "../../dead-letters/dead-letter.ts";
import { toDefinition } from "../../topics/topic.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import {
  countDefinitions,
  openSource,
  readDefinitionBatches,
  type PlacedDefinition,
  type DefinitionSource,
} from "../input/definitions.ts";
import { collectFile } from "../input/files.ts";
import { formatCount } from "../output/format.ts";
import { printError, printJson, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { formatRejected, type RejectedDefinition } from "../output/rejected.ts";

export function defineAnnounce(command: Command): void {
  command
    .argument("<file...>", 'files with definitions; "-" is standard input', collectFile)
    .option("-w, --wait", "wait until the service has stored or rejected them, and print the outcome")
    .option("--json", "print the result as JSON")
    .action(async (files: string[], flags: AnnounceFlags) => {
      const sources = await Promise.all(files.map(openSource));
      const count = await countDefinitions(sources, "announced");
      if (count === undefined) process.exitCode = exitCodes.rejected;
      else await runWithContext((context) => announce(context, { sources, count, ...flags }));
    });
}

interface AnnounceFlags {
  readonly wait?: true;
  readonly json?: true;
}

interface AnnounceCommand extends AnnounceFlags {
  readonly sources: readonly DefinitionSource[];
  readonly count: number;
}

/** A definition that was published, with the position of its record. */
interface Announced extends PartitionOffset {
  readonly place: string;
  readonly externalId: string;
}

/** A rejected announcement, with the id of its dead letter. */
interface RejectedAnnouncement extends RejectedDefinition {
  readonly id: string;
}

const leaderTimeoutMs = 10_000;

async function announce(
  context: CommandContext,
  { sources, count, wait, json }: AnnounceCommand,
): Promise<void> {
  const { announcementsTopic, deadLetterTopic } = context.config.kafka;
  if (!wait) {
    await publish(context, { sources, count }, () => undefined);
    if (json) printLine(JSON.stringify({ announced: count }));
    else printLine(`announced ${formatCount(count, "definition")} to ${announcementsTopic}`);
    return;
  }

  const broker = await context.broker();
  // A Kafka topic that was just created, or whose leader has changed, may have no bounds for a moment.
  const endsBefore = await retryUntilAvailable(() => broker.fetchBounds(deadLetterTopic), {
    what: "Kafka",
    abort: AbortSignal.any([context.abort, AbortSignal.timeout(leaderTimeoutMs)]),
    log: context.log,
  });
  const announced: Announced[] = [];
  await publish(context, { sources, count }, (one) => {
    announced.push(one);
  });
  if (!(await isApplied(context, announced))) {
    printError(`all ${count} sent; stopped waiting. The service will apply them when it is running`);
    process.exitCode = exitCodes.failure;
    return;
  }
  const from = new Map([...(endsBefore ?? [])].map(([partition, { high }]) => [partition, high]));
  const rejected = await findRejected(context, announced, from);
  const stored = count - rejected.length;
  await printWarnings(context, sources);
  if (rejected.length > 0) process.exitCode = exitCodes.rejected;
  if (json) {
    printJson({ announced: count, stored, rejected });
    return;
  }
  printLine(`stored: ${stored} of ${count}`);
  if (rejected.length === 0) return;
  printLine(await formatRejected(rejected));
  printLine("`topicsync dead-letters` lists and replays what was rejected.");
}

const recordsPerRequest = 500;
const maxWarningsShown = 20;

/** Prints conditions that none of the last events meets, as `topic-check` reports them. */
async function printWarnings(
  { services }: CommandContext,
  sources: readonly DefinitionSource[],
): Promise<void> {
  const { eventTypes } = await services();
  let found = 0;
  for await (const batch of readDefinitionBatches(sources, recordsPerRequest))
    for (const { place, body } of batch) {
      const warnings = await eventTypes.findWarnings(toDefinition(body), { showsValues: true });
      for (const { filter, message } of warnings) {
        found += 1;
        if (found <= maxWarningsShown) printError(sanitize(`${place}: warning: ${filter}: ${message}`));
      }
    }
  if (found > maxWarningsShown) printError(formatCount(found - maxWarningsShown, "more warning"));
}

/** Publishes all definitions in the order of the files. */
async function publish(
  context: CommandContext,
  { sources, count }: Pick<AnnounceCommand, "sources" | "count">,
  onSent: (announced: Announced) => void,
): Promise<void> {
  const producer = (await context.broker()).createProducer(context.config.kafka.announcementsTopic);
  const progress = createProgress("announcing", count, process.stderr);
  let done = 0;
  try {
    for await (const batch of readDefinitionBatches(sources, recordsPerRequest)) {
      if (context.abort.aborted) throw new Error(`stopped after ${done} of ${count}`);
      const results = await producer.send(batch.map(({ body }) => toRecord(body)));
      for (const [index, { place, body }] of batch.entries()) {
        const result = results[index];
        if (result === undefined) continue;
        if ("rejection" in result) throw new Error(`${place}: Kafka rejects it: ${result.rejection.message}`);
        onSent({ ...result, place, externalId: body.externalId });
      }
      done += batch.length;
      progress.at(done);
    }
  } finally {
    await producer.close();
  }
  progress.end(`announced ${formatCount(done, "definition")}`);
}

const toRecord = (body: PlacedDefinition["body"]): OutgoingRecord => ({
  key: Buffer.from(body.externalId),
  value: Buffer.from(JSON.stringify(body)),
  headers: [],
  timestamp: undefined,
});

const pollIntervalMs = 200;
const hintAfterMs = 10_000;

/** Waits until the service has applied everything: stored, unchanged or rejected; false if interrupted. */
async function isApplied(context: CommandContext, announced: readonly Announced[]): Promise<boolean> {
  const { abort, log, config } = context;
  const { groupId, announcementsTopic } = config.kafka;
  const { topicStore } = await context.services();
  const progress = createProgress("applied by the service", announced.length, process.stderr);
  let done = 0;
  let lastProgressAt = Date.now();
  while (done < announced.length && !abort.aborted) {
    const reached = await retryUntilAvailable(() => topicStore.findPositions(groupId, announcementsTopic), {
      what: "MongoDB",
      abort,
      log,
    }).catch((error: unknown) => {
      if (!abort.aborted) throw error;
    });
    const applied = announced.filter(
      ({ partition, offset }) => (reached?.get(partition)?.offset ?? 0) > offset,
    );
    if (applied.length > done) lastProgressAt = Date.now();
    done = applied.length;
    progress.at(done);
    if (Date.now() - lastProgressAt >= hintAfterMs) {
      lastProgressAt = Infinity;
      printError("nothing was applied for 10 s: is the service running? `topicsync status` shows the sync");
    }
    if (done < announced.length) await sleep(pollIntervalMs, abort);
  }
  const isDone = done === announced.length;
  progress.end(isDone ? "all are applied" : "interrupted");
  return isDone;
}

/** The announced definitions that have become dead letters since `from`. */
async function findRejected(
  { broker, config, abort }: CommandContext,
  announced: readonly Announced[],
  from: ReadonlyMap<number, number>,
): Promise<RejectedAnnouncement[]> {
  const { announcementsTopic, deadLetterTopic } = config.kafka;
  // The dead letters are newer than the announcements, so one of the same offset is of the same epoch.
  const byPosition = new Map(
    announced.map((one) => [formatRecordPosition({ topic: announcementsTopic, ...one }), one]),
  );
  const rejected = new Map<string, RejectedAnnouncement>();
  for await (const record of (await broker()).read(deadLetterTopic, { from, abort })) {
    const { id, source, code, message } = parseDeadLetter(deadLetterTopic, record, {
      identify: () => undefined,
      proofKey: "any",
    });
    const one = source && byPosition.get(formatRecordPosition({ ...source, epoch: 1 }));
    if (one === undefined) continue;
    rejected.set(id, { place: one.place, externalId: one.externalId, id, code, message });
  }
  return [...rejected.values()];
}
