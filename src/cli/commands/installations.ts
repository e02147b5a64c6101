import type { Command } from "commander";

import { abbreviateToken, toInstallationView, type Installation } from "../../installations/installation.ts";
import { sweep } from "../../installations/sweep.ts";
import { createInstallationReader } from "../../storage/installation-reader.ts";
import { parseDuration } from "../input/options.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { isConfirmed } from "../input/confirm.ts";
import {
  createListing,
  toInstallationQuery,
  withInstallationFlags,
  withScope,
  type InstallationFlags,
} from "./installation-flags.ts";
import { addExportCommand } from "./installations-export.ts";
import { addImportCommand } from "./installations-import.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

/** Adds `topicsync installations …`: the push tokens that are registered. */
export function addInstallationsCommand(program: Command): void {
  const installations = program
    .command("installations")
    .description("look into registered push tokens, deactivate forgotten ones, move them between databases");

  withInstallationFlags(installations.command("list"))
    .description("list installations in the order of their ids")
    .option("--full-tokens", "show tokens whole: whoever has one can send to its device")
    .option("--json", "print a line of JSON for each (NDJSON) instead of a table")
    .action((flags: ListFlags) => runCommand((connection) => list(connection, flags)));

  withScope(installations.command("sweep"))
    .description("deactivate tokens that were not seen for long; stopped, it goes on when it is run again")
    .requiredOption("--unseen-for <duration>", "not registered for this time: 270d", parseDuration)
    .option("--dry-run", "say how many there are, and deactivate nothing")
    .option("--yes", "do not ask")
    .action((flags: SweepFlags, command: Command) => {
      if (!flags.yes && !flags.dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
        command.error("error: this is no terminal to ask on: give --yes to sweep, or --dry-run to look");
      return runCommand((connection) => sweepTokens(connection, flags));
    });

  addExportCommand(installations);
  addImportCommand(installations);
}

interface ListFlags extends InstallationFlags {
  readonly fullTokens?: true;
  readonly json?: true;
}

const columns = ["token", "application", "platform", "user", "active", "last seen", "why not"].map((head) => {
  return { head };
});

async function list({ database, abort }: CommandContext, flags: ListFlags): Promise<void> {
  const { json, fullTokens = false } = flags;
  const listing = createListing(await database());
  const output = openOutput();
  const rows = json ? undefined : await createTableWriter(output, columns);
  let count = 0;
  for await (const { installations } of listing.all(toInstallationQuery(flags))) {
    for (const one of installations) {
      count += 1;
      const goesOn =
        rows === undefined
          ? await output.write(`${JSON.stringify(toInstallationView(one, { fullTokens }))}\n`)
          : await rows.add(rowOf(one, fullTokens));
      if (!goesOn) return;
    }
    if (abort.aborted) break;
  }
  if (rows === undefined) return;
  if (count > 0) await rows.end();
  await output.write(
    count === 0 ? "There are no such installations.\n" : `${formatCount(count, "installation")}\n`,
  );
}

const rowOf = (one: Installation, fullTokens: boolean): string[] =>
  [
    fullTokens ? one.token : abbreviateToken(one.token),
    one.application,
    one.platform,
    one.user,
    one.active ? "yes" : "no",
    one.lastSeenOn.toISOString().slice(0, 16).replace("T", " "),
    one.deactivatedReason ?? "",
  ].map(sanitize);

interface SweepFlags extends InstallationFlags {
  readonly unseenFor: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

async function sweepTokens({ database, audit, abort }: CommandContext, flags: SweepFlags): Promise<void> {
  const { application, platform, unseenFor } = flags;
  const store = await database();
  const reader = createInstallationReader(store);
  const unseenSince = new Date(Date.now() - unseenFor);
  const reason = `not seen for ${spanText(unseenFor)}`;
  const total = await reader.count();

  async function go(title: string, deactivate: Parameters<typeof sweep>[1]["deactivate"]) {
    const progress = createProgress(title, total, process.stderr);
    const swept = await sweep(createListing(store), {
      filter: { application, platform },
      unseenSince,
      deactivate,
      abort,
      progress: (looked) => {
        progress.at(Math.min(looked, total));
      },
    });
    progress.end(abort.aborted ? "stopped; run it again to go on" : `looked at ${total} installations`);
    return swept;
  }

  if (!flags.yes || flags.dryRun) {
    const { found } = await go("looking", undefined);
    printLine(
      `${formatCount(found, "installation")} ${found === 1 ? "was" : "were"} last seen before ${unseenSince.toISOString()}.`,
    );
    if (found === 0 || flags.dryRun || abort.aborted) return;
    if (!(await isConfirmed(`Deactivate ${formatCount(found, "installation")}?`))) {
      printLine("Nothing was deactivated.");
      return;
    }
  }
  const record = audit();
  let deactivated = 0;
  try {
    await go("sweeping", async (ids) => {
      const count = await reader.deactivate(ids, { unseenSince, reason });
      deactivated += count;
      return count;
    });
  } finally {
    // Also of a sweep that is cut off.
    if (deactivated > 0) record({ action: "installations.swept", count: deactivated });
  }
  printLine(`deactivated ${formatCount(deactivated, "installation")}: ${reason}`);
}

const units = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000 };

/** A time in its largest whole unit, so that nothing is rounded: 36 hours are not 2 days. */
function spanText(span: number): string {
  const [unit, length] = Object.entries(units).find(([, one]) => span % one === 0) ?? ["millisecond", 1];
  return `${span / length} ${unit}${span === length ? "" : "s"}`;
}
