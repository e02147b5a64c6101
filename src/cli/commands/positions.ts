import { Argument, type Command } from "commander";

import { ConfigurationError, getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import { deadLetterChannels } from "../../../schemas/dead-letters/dead-letter.ts";
import { listPositionedConsumers } from "../../service/kafka/positions.ts";
import {
  inspectPositions,
  planChanges,
  setPosition,
  type FoundPosition,
  type PositionChange,
  type PositionedConsumer,
  type PositionTarget,
} from "../../service/kafka/set-positions.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import { parseTime, parseWhole, type JsonFlag } from "../input/options.ts";
import { printJson, printLine, sanitize } from "../output/output.ts";
import { formatTable } from "../output/table.ts";

interface SetFlags extends JsonFlag {
  readonly partition?: number[];
  readonly toOffset?: number;
  /** Milliseconds since 1970. */
  readonly toTime?: number;
  readonly beginning?: true;
  readonly end?: true;
  readonly toCurrent?: true;
  readonly dryRun?: true;
}

const letters = "dead-letters.";
const names = deadLetterChannels.flatMap((channel) => [channel, `${letters}${channel}`]);

/** Defines `topicsync positions …`. */
export function definePositions(positions: Command): void {
  positions
    .command("list", { isDefault: true })
    .description("list the positions of the consumers, and the logs that Kafka has now")
    .addArgument(new Argument("[consumer]", "only this one").choices(names))
    .option("--json", "print JSON instead of a table")
    .action((name: string | undefined, flags: JsonFlag) =>
      runWithContext((context) => list(context, name, flags)),
    );

  positions
    .command("set")
    .description("set where a consumer reads on; running instances follow within 20 seconds")
    .addArgument(new Argument("<consumer>", "as the list names it").choices(names))
    .option("-p, --partition <number...>", "only these partitions", collectPartition)
    .option("--to-offset <offset>", "the offset of the next record to read", parseWhole)
    .option("--to-time <time>", "the first record since this time, as in 2026-11-25T09:30:00Z", parseTime)
    .option("--beginning", "the first record that the log has")
    .option("--end", "after the last record")
    .option("--to-current", "the same offset, in the log that is there now: for a mirror with equal offsets")
    .option("--dry-run", "print what would be read again or skipped, and set nothing")
    .option("--json", "print JSON instead of a table")
    .action((name: string, flags: SetFlags, command: Command) => {
      const targets = toTargets(flags);
      const [target] = targets;
      if (target === undefined || targets.length > 1)
        return command.error(
          "error: choose one of --to-offset, --to-time, --beginning, --end and --to-current",
        );
      return runWithContext((context) => set(context, name, { target, flags }));
    });
}

const collectPartition = (given: string, previous: number[] = []): number[] => [
  ...previous,
  parseWhole(given),
];

function toTargets({ toOffset, toTime, beginning, end, toCurrent }: SetFlags): PositionTarget[] {
  return [
    ...(toOffset === undefined ? [] : [{ to: "offset", offset: toOffset } as const]),
    ...(toTime === undefined ? [] : [{ to: "time", time: toTime } as const]),
    ...(beginning ? [{ to: "beginning" } as const] : []),
    ...(end ? [{ to: "end" } as const] : []),
    ...(toCurrent ? [{ to: "current" } as const] : []),
  ];
}

/** Throws ConfigurationError if the consumer that is named is not configured. */
async function openConsumers(
  { config, broker, services }: CommandContext,
  name?: string,
): Promise<PositionedConsumer[]> {
  const sources = { broker: await broker(), services: await services() };
  const all = listPositionedConsumers(config.kafka, sources);
  const found = all.filter((one) => name === undefined || one.name === name);
  if (found.length > 0) return found;
  const setting = name?.includes("events") ? "KAFKA_EVENTS_TOPIC" : "KAFKA_PUSH_FEEDBACK_TOPIC";
  throw new ConfigurationError(`there is no consumer "${name ?? ""}": ${setting} is not set`);
}

async function list(context: CommandContext, name: string | undefined, { json }: JsonFlag): Promise<void> {
  const rows: (readonly [PositionedConsumer, FoundPosition | string])[] = [];
  for (const consumer of await openConsumers(context, name)) {
    try {
      rows.push(...(await inspectPositions(consumer)).map((found) => [consumer, found] as const));
    } catch (error) {
      // A Kafka topic may be missing, on a mirror for example. The other consumers are of interest then.
      if (!(error instanceof UnavailableError)) throw error;
      rows.push([consumer, getErrorMessage(error)]);
    }
  }
  if (json) printJson(rows.map(([consumer, found]) => toView(consumer, found)));
  else
    await printRows(
      listHead,
      rows.map(([consumer, found]) => toRow(consumer, found)),
    );
}

const toView = ({ name, group, topic }: PositionedConsumer, found: FoundPosition | string) => ({
  consumer: name,
  group,
  topic,
  ...(typeof found === "string" ? { problem: found } : describe(found)),
});

const describe = ({ partition, position, log, otherCluster }: FoundPosition) => ({
  partition,
  offset: position?.offset ?? null,
  epoch: position?.epoch ?? null,
  logStart: log.low,
  logEnd: log.high,
  clusterId: log.clusterId,
  otherCluster: otherCluster ?? null,
});

const listHead = ["consumer", "partition", "position", "epoch", "log start", "log end", "cluster"];

function toRow({ name, topic }: PositionedConsumer, found: FoundPosition | string): string[] {
  if (typeof found === "string") return [name, "", "", "", "", "", sanitize(found)];
  const { partition, position, log, otherCluster } = found;
  const cluster =
    otherCluster === undefined
      ? (log.clusterId ?? "")
      : `paused: read in ${otherCluster}, Kafka is ${log.clusterId ?? ""}`;
  const { offset = "none", epoch = "" } = position ?? {};
  return [
    name,
    `${topic}-${partition}`,
    `${offset}`,
    `${epoch}`,
    `${log.low}`,
    `${log.high}`,
    sanitize(cluster),
  ];
}

/** What is set for a person, or would be. */
async function set(
  context: CommandContext,
  name: string,
  { target, flags }: { readonly target: PositionTarget; readonly flags: SetFlags },
): Promise<void> {
  const { partition, dryRun, json } = flags;
  const record = dryRun ? undefined : context.audit();
  const [consumer] = await openConsumers(context, name);
  if (consumer === undefined) return;
  const found = await inspectPositions(consumer, partition && new Set(partition));
  const planned = [
    ...(await planChanges(consumer, found, target)).map((change) => ({ consumer, change })),
    ...(await planDeadLetters(context, name)),
  ];
  for (const { consumer, change } of record === undefined ? [] : planned) {
    const former = await setPosition(consumer, change);
    const { group, topic } = consumer;
    const from = former?.offset ?? null;
    record?.({ action: "position.set", group, topic, partition: change.partition, from, to: change.offset });
  }
  if (json) {
    printJson(planned.map(({ consumer, change }) => toChangeView(consumer, change)));
    return;
  }
  await printRows(
    ["consumer", "partition", "position", dryRun ? "would be" : "is now", "which means"],
    planned.map(({ consumer: { name, topic }, change }) => [
      name,
      `${topic}-${change.partition}`,
      `${change.position?.offset ?? "none"}`,
      `${change.offset}`,
      explain(change),
    ]),
  );
}

/** The stored dead letters show what Kafka has, so they follow their consumer to another cluster. */
async function planDeadLetters(context: CommandContext, name: string) {
  if (name.startsWith(letters)) return [];
  const planned: { readonly consumer: PositionedConsumer; readonly change: PositionChange }[] = [];
  for (const consumer of await openConsumers(context, `${letters}${name}`)) {
    const found = await inspectPositions(consumer).catch((error: unknown) => {
      // Without a Kafka topic there is nothing to follow.
      if (error instanceof UnavailableError) return [];
      throw error;
    });
    const elsewhere = found.filter(({ otherCluster }) => otherCluster !== undefined);
    const changes = await planChanges(consumer, elsewhere, { to: "beginning" });
    planned.push(...changes.map((change) => ({ consumer, change })));
  }
  return planned;
}

const toChangeView = (consumer: PositionedConsumer, change: PositionChange) => ({
  ...toView(consumer, change),
  to: change.offset,
  readAgain: change.readAgain ?? null,
  skipped: change.skipped ?? null,
  unread: change.log.high - change.offset,
});

function explain({ offset, log, readAgain, skipped }: PositionChange): string {
  const { low, high } = log;
  if (readAgain === undefined || skipped === undefined)
    return `another log: reads ${high - offset} of its records, not the ${offset - low} before`;
  if (readAgain > 0) return `reads ${readAgain} again`;
  return skipped > 0 ? `skips ${skipped}` : "no change";
}

async function printRows(head: string[], rows: readonly string[][]): Promise<void> {
  printLine(rows.length === 0 ? "There are no positions." : await formatTable(head, rows));
}
