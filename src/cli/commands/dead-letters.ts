import { Option, type Command } from "commander";

import type { DeadLetterItem, DeadLetterView } from "../../../schemas/dead-letter-api.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import { formatDeadLetter, toColumns, toRow } from "../output/dead-letter-view.ts";
import { openOutput } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";
import {
  openDeadLetters,
  toDeadLetterFilter,
  withChannel,
  withFilter,
  type ChannelFlags,
  type FilterFlags,
} from "./dead-letter-flags.ts";
import { replayDeadLetters, type ReplayFlags } from "./replay.ts";

interface ListFlags extends FilterFlags, ChannelFlags {
  readonly replayed?: true;
  readonly notReplayed?: true;
  readonly json?: true;
  readonly full?: true;
}

/** Defines `topicsync dead-letters …`. */
export function defineDeadLetters(deadLetters: Command): void {
  withFilter(withChannel(deadLetters.command("list")))
    .description("list dead letters, newest first")
    .option("--id <id...>", "only these dead letters")
    .option("--replayed", "only those that were replayed")
    .addOption(new Option("--not-replayed", "only those that were not replayed").conflicts("replayed"))
    .option("--json", "print one JSON object per line (NDJSON) instead of a table")
    .option("--full", "with --json: include key, value and headers in base64, details and all replays")
    .action((flags: ListFlags, command: Command) => {
      if (flags.full && !flags.json) command.error("error: --full requires --json");
      return runWithContext((context) => list(context, flags));
    });

  withChannel(deadLetters.command("show"))
    .description("show a dead letter")
    .argument("<id>", "its id, as printed by `list`")
    .option("--json", "print JSON")
    .addOption(new Option("--raw", "print only the bytes of the value").conflicts("json"))
    .action((id: string, flags: ShowFlags) => runWithContext((context) => show(context, id, flags)));

  withFilter(withChannel(deadLetters.command("replay")))
    .description("send dead letters back to the topic they came from")
    .argument("[id...]", "only these dead letters")
    .option("--all", "all dead letters")
    .option("--again", "also those that were replayed before")
    .option("--force", "also those whose topic was announced or retired later, overwriting that")
    .option("--dry-run", "print what would be sent, and send nothing")
    .option("--yes", "do not ask for confirmation")
    .action(
      (ids: string[], flags: ReplayFlags & FilterFlags & ChannelFlags & { all?: true }, command: Command) => {
        const conditions = toDeadLetterFilter({ ...flags, ...(ids.length > 0 && { id: ids }) });
        const isFiltered = Object.keys(conditions).length > 0;
        if (!isFiltered && !flags.all)
          command.error(
            "error: select dead letters by id, --code, --newer-than or --older-than, or use --all",
          );
        if (isFiltered && flags.all) command.error("error: --all cannot be combined with a filter");
        if (!flags.yes && !flags.dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
          command.error("error: no terminal to ask for confirmation: use --yes or --dry-run");
        return runWithContext(async (context) =>
          replayDeadLetters(context, await openDeadLetters(context, flags), {
            ...flags,
            filter: { ...conditions, namespaces: "all" },
          }),
        );
      },
    );
}

async function list(context: CommandContext, flags: ListFlags): Promise<void> {
  const service = await openDeadLetters(context, flags);
  const output = openOutput();
  const letters = service.readAll({
    filter: { ...toDeadLetterFilter(flags), namespaces: "all" },
    replayed: flags.notReplayed ? false : flags.replayed,
  });
  if (flags.json) {
    const record = flags.full ? context.audit() : undefined;
    for await (const batch of letters) {
      const ids = batch.map(({ id }) => id);
      for (const id of ids) record?.({ action: "dead-letters.read", id });
      for await (const one of flags.full ? service.read(ids) : batch)
        if (!(await output.write(`${JSON.stringify(one)}\n`))) return;
    }
    return;
  }
  const counts = new Map<string, number>();
  let table: Awaited<ReturnType<typeof createTableWriter>> | undefined;
  for await (const batch of letters) {
    if (batch.length === 0) continue;
    table ??= await createTableWriter(output, toColumns(batch, process.stdout.columns));
    for (const one of batch) {
      counts.set(one.code, (counts.get(one.code) ?? 0) + 1);
      if (!(await table.add(toRow(one, Date.now())))) return;
    }
  }
  await table?.end();
  await output.write(`${formatTotals(counts, sum(Object.values(await service.countByCode("all"))))}\n`);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

function formatTotals(counts: ReadonlyMap<DeadLetterItem["code"], number>, total: number): string {
  if (total === 0) return "There are no dead letters.";
  if (counts.size === 0) return `No dead letters match (${total} in total).`;
  const byCode = [...counts].toSorted(([, a], [, b]) => b - a).map(([code, count]) => `${count} ${code}`);
  return `${sum([...counts.values()])} of ${total} dead letters: ${byCode.join(", ")}`;
}

interface ShowFlags extends ChannelFlags {
  readonly json?: true;
  readonly raw?: true;
}

async function show(context: CommandContext, id: string, { json, raw, ...flags }: ShowFlags): Promise<void> {
  const record = context.audit();
  const found = await (await openDeadLetters(context, flags)).get(id, "all");
  if (found === undefined)
    throw new Error(`there is no dead letter "${id}"; \`topicsync dead-letters list\` prints their ids`);
  const letter = found.view;
  record({ action: "dead-letters.read", id });
  if (raw && letter.omitted !== null) throw new Error(letter.omitted);
  await openOutput().write(
    raw ? decodeValue(letter) : json ? formatJson(letter) : formatDeadLetter(letter, Date.now()),
  );
}

const decodeValue = ({ value }: DeadLetterView): Buffer => Buffer.from(value ?? "", "base64");
const formatJson = (letter: DeadLetterView): string => `${JSON.stringify(letter, undefined, 2)}\n`;
