import { Option, type Command } from "commander";

import type {
  DeadLetterItem,
  DeadLetterList,
  DeadLetterView,
} from "../../../schemas/dead-letters/dead-letter.ts";
import { getDeadLetter } from "../../operations/dead-letters.ts";
import { runWithClient } from "../client/client.ts";
import { addOperation } from "../client/command.ts";
import { deadLetterColumns, formatDeadLetter, toRow } from "../output/dead-letter-view.ts";
import { printItems } from "../output/items.ts";
import { printLine } from "../output/output.ts";
import { readPages, toQuery, withFilter, type FilterFlags } from "./dead-letter-query.ts";
import { replay, type ReplayFlags } from "./replay.ts";

/** Defines `topicsync dead-letters …`. */
export function defineDeadLetters(deadLetters: Command): void {
  withFilter(deadLetters.command("list"))
    .description("list dead letters, newest first")
    .option("--replayed", "only those that were replayed")
    .addOption(new Option("--not-replayed", "only those that were not replayed").conflicts("replayed"))
    .option("--json", "print one JSON object per line (NDJSON) instead of a table")
    .action(list);

  addOperation<DeadLetterView>(deadLetters, {
    name: "show",
    operation: getDeadLetter,
    description: "show a dead letter",
    format: (letter) => formatDeadLetter(letter, Date.now()),
  });

  withFilter(deadLetters.command("replay"))
    .description("send dead letters back to the topic they came from")
    .argument("[id...]", "only these dead letters")
    .option("--all", "all dead letters")
    .option("--again", "also those that were replayed before")
    .option("--force", "also those whose topic was announced or retired later, overwriting that")
    .option("--dry-run", "print what would be sent, and send nothing")
    .option("--yes", "do not ask for confirmation")
    .action((ids: string[], flags: ReplayFlags & { all?: true }, command: Command) => {
      const { code, newerThan, olderThan, all, yes, dryRun } = flags;
      const isFiltered = [code, newerThan, olderThan].some((one) => one !== undefined);
      const selections = [ids.length > 0, isFiltered, all].filter(Boolean).length;
      if (selections === 0)
        command.error("error: select dead letters by id, --code, --newer-than or --older-than, or use --all");
      if (selections > 1) command.error("error: ids, a filter and --all cannot be combined");
      if (!yes && !dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
        command.error("error: no terminal to ask for confirmation: use --yes or --dry-run");
      return runWithClient(flags, (client) => replay(client, ids, flags));
    });
}

interface ListFlags extends FilterFlags {
  readonly replayed?: true;
  readonly notReplayed?: true;
  readonly json?: true;
}

async function list(flags: ListFlags): Promise<void> {
  const query = { ...toQuery(flags), replayed: flags.notReplayed ? false : flags.replayed };
  let totals: Pick<DeadLetterList, "counts" | "total"> = { counts: {}, total: 0 };
  const now = Date.now();
  const printed = await runWithClient(flags, (client) => {
    async function* readItems(): AsyncGenerator<DeadLetterItem> {
      for await (const page of readPages(client, query)) {
        totals = page;
        yield* page.deadLetters;
      }
    }
    const json = flags.json === true;
    const toCells = (one: DeadLetterItem) => toRow(one, now);
    return printItems(readItems(), {
      ...{ json, columns: deadLetterColumns, toRow: toCells, abort: client.abort },
    });
  });
  if (printed !== undefined && !flags.json) printLine(formatTotals(printed.count, totals));
}

function formatTotals(count: number, { counts, total }: Pick<DeadLetterList, "counts" | "total">): string {
  if (total === 0) return "There are no dead letters.";
  const byCode = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  const codes = byCode.map(([code, one]) => `${one} ${code}`).join(", ");
  return count === 0
    ? `No dead letters match (${total} in total: ${codes}).`
    : `${count} of ${total} dead letters (${codes})`;
}
