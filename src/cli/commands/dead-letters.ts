import { Option, type Command } from "commander";

import { listLetters } from "../../dead-letters/browse.ts";
import type { DeadLetterCode } from "../../dead-letters/dead-letter.ts";
import { toDeadLetterChoice, withChoice, type ChoiceFlags } from "./choice-flags.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { getChannel, openLetters, withChannel, type ChannelFlags } from "./dead-letter-channel.ts";
import { letterJson, letterText, listColumns, listRow } from "../output/dead-letter-view.ts";
import { openOutput } from "../output/output.ts";
import { replayLetters, type ReplayFlags } from "./replay.ts";
import { createTableWriter } from "../output/table.ts";

interface ListFlags extends ChoiceFlags, ChannelFlags {
  readonly id?: string[];
  readonly replayed?: boolean;
  readonly json?: true;
}

/** Adds `topicsync dead-letters …`: what was refused, and sending it back. */
export function addDeadLettersCommand(program: Command): void {
  const letters = program
    .command("dead-letters")
    .description("look into what was refused, and send it back to where it came from");

  withChoice(withChannel(letters.command("list")))
    .description("list what was refused")
    .option("--id <id...>", "these only")
    .option("--replayed", "only those that were replayed")
    .option("--not-replayed", "only those that were not")
    .option("--json", "print a line of JSON for each (NDJSON) instead of a table")
    .action((flags: ListFlags & { notReplayed?: true }, command: Command) => {
      const { replayed, notReplayed } = flags;
      if (replayed === true && notReplayed)
        command.error("error: --replayed and --not-replayed exclude each other");
      return runCommand((connection) =>
        list(connection, notReplayed ? { ...flags, replayed: false } : flags),
      );
    });

  withChannel(letters.command("show"))
    .description("show everything about one")
    .argument("<id>", "its id, as `list` shows it")
    .option("--json", "print JSON")
    .addOption(new Option("--raw", "write nothing but the value's bytes").conflicts("json"))
    .action((id: string, flags: ShowFlags) => runCommand((connection) => show(connection, id, flags)));

  withChoice(withChannel(letters.command("replay")))
    .description("send what was refused back to the topic that it came from")
    .argument("[id...]", "these only")
    .option("--all", "all there are")
    .option("--again", "also those that were replayed before")
    .option("--force", "also those whose topic was announced or retired later: they overwrite it")
    .option("--dry-run", "say what would be sent, and send nothing")
    .option("--yes", "do not ask")
    .action(
      (ids: string[], flags: ReplayFlags & ChoiceFlags & ChannelFlags & { all?: true }, command: Command) => {
        const choice = toDeadLetterChoice({ ...flags, ...(ids.length > 0 && { id: ids }) });
        const isNarrowed = Object.keys(choice).length > 0;
        if (!isNarrowed && !flags.all)
          command.error("error: say which to replay: ids, --code, --newer-than, --older-than, or --all");
        if (isNarrowed && flags.all) command.error("error: --all goes with no other choice");
        if (!flags.yes && !flags.dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
          command.error("error: this is no terminal to ask on: give --yes to send, or --dry-run to look");
        return runCommand(async (connection) => {
          const opened = await openLetters(connection, flags);
          const to = getChannel(connection.config.kafka, flags);
          await replayLetters(connection, opened, {
            ...flags,
            to: to.topic,
            choice,
            ids,
            output: openOutput(),
          });
        });
      },
    );
}

async function list(connection: CommandContext, flags: ListFlags): Promise<void> {
  const letters = await openLetters(connection, flags);
  const { mailbox } = letters;
  const { replayed, json } = flags;
  const output = openOutput();
  const counts = new Map<DeadLetterCode, number>();
  const rows = json
    ? undefined
    : await createTableWriter(output, listColumns(mailbox.widestId, process.stdout.columns));
  for await (const listed of listLetters(letters, toDeadLetterChoice(flags), replayed)) {
    const { code: found } = listed.letter;
    counts.set(found, (counts.get(found) ?? 0) + 1);
    const goesOn =
      rows === undefined
        ? await output.write(`${JSON.stringify(letterJson(listed))}\n`)
        : await rows.add(listRow(listed, Date.now()));
    if (!goesOn) return;
  }
  if (rows === undefined) return;
  if (counts.size > 0) await rows.end();
  await output.write(
    `${totals(counts, mailbox.count, getChannel(connection.config.kafka, flags).deadLetterTopic)}\n`,
  );
}

function totals(counts: ReadonlyMap<DeadLetterCode, number>, all: number, topic: string): string {
  if (all === 0) return `There are no dead letters in ${topic}: nothing was refused.`;
  if (counts.size === 0) return `None of the ${all} dead letters is like that.`;
  const sum = [...counts.values()].reduce((a, b) => a + b, 0);
  const byCode = [...counts].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${count} ${name}`);
  return `${sum} of ${all} dead letters: ${byCode.join(", ")}`;
}

interface ShowFlags extends ChannelFlags {
  readonly json?: true;
  readonly raw?: true;
}

async function show(connection: CommandContext, id: string, flags: ShowFlags): Promise<void> {
  const { json, raw } = flags;
  const letters = await openLetters(connection, flags);
  const output = openOutput();
  for await (const listed of listLetters(letters, { ids: new Set([id]) })) {
    const { omitted, value } = listed.letter;
    if (raw && omitted !== undefined) throw new Error(omitted);
    if (raw) await output.write(value ?? "");
    else if (json) await output.write(`${JSON.stringify(letterJson(listed), undefined, 2)}\n`);
    else await output.write(letterText(listed, Date.now()));
    return;
  }
  throw new Error(`there is no dead letter "${id}"; \`topicsync dead-letters list\` shows those there are`);
}
