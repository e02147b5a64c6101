import type { Command } from "commander";

import { sweep } from "../../installations/deactivation.ts";
import { abbreviateToken, toInstallationView, type Installation } from "../../installations/installation.ts";
import { UnavailableError } from "../../lib/errors.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import { isConfirmed } from "../input/confirm.ts";
import { parseDuration } from "../input/options.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { openOutput, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";
import {
  addInstallationFlags,
  addScopeFlags,
  toInstallationQuery,
  type InstallationFlags,
} from "./installation-flags.ts";
import { addImportCommand } from "./installations-import.ts";

export function defineInstallations(installations: Command): void {
  addInstallationFlags(installations.command("list"))
    .description("list installations, sorted by id")
    .option("--full-tokens", "show whole tokens; anyone who has one can send to its device")
    .option(
      "--json",
      "print NDJSON, one installation per line, instead of a table; with --full-tokens, `import` reads it",
    )
    .action((flags: ListFlags) => runWithContext((context) => list(context, flags)));

  addScopeFlags(installations.command("sweep"))
    .description("deactivate tokens that were not registered for a long time; safe to interrupt and repeat")
    .requiredOption("--unseen-for <duration>", "not registered for this long: 270d", parseDuration)
    .option("--dry-run", "only count them")
    .option("--yes", "do not ask for confirmation")
    .action((flags: SweepFlags, command: Command) => {
      if (!flags.yes && !flags.dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
        command.error("error: no terminal to ask for confirmation: pass --yes, or --dry-run to count only");
      return runWithContext((context) => sweepTokens(context, flags));
    });

  addImportCommand(installations);
}

interface ListFlags extends InstallationFlags {
  readonly fullTokens?: true;
  readonly json?: true;
}

const columns = ["token", "application", "platform", "user", "active", "last seen", "reason"].map((head) => ({
  head,
}));

async function list({ services, abort, audit }: CommandContext, flags: ListFlags): Promise<void> {
  const { json, fullTokens = false } = flags;
  const { installationListing } = await services();
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, columns);
  const write = (one: Installation): Promise<boolean> =>
    table === undefined
      ? output.write(`${JSON.stringify(toInstallationView(one, { fullTokens }))}\n`)
      : table.add(formatRow(one, fullTokens));
  const record = fullTokens ? audit() : undefined;
  let count = 0;
  for await (const { installations } of installationListing.streamAll(toInstallationQuery(flags))) {
    // Recorded before they are shown, because the reader of the output may close it.
    if (installations.length > 0)
      record?.({ action: "installations.read-tokens", count: installations.length });
    for (const one of installations) {
      count += 1;
      if (!(await write(one))) return;
    }
    if (abort.aborted) throw new UnavailableError(`interrupted after ${formatCount(count, "installation")}`);
  }
  if (table === undefined) return;
  if (count > 0) await table.end();
  await output.write(count === 0 ? "No installations match.\n" : `${formatCount(count, "installation")}\n`);
}

const formatRow = (one: Installation, fullTokens: boolean): string[] =>
  [
    fullTokens ? one.token : abbreviateToken(one.token),
    one.application,
    one.platform,
    one.user,
    one.active ? "yes" : "no",
    formatMinute(one.lastSeenOn),
    one.deactivatedReason ?? "",
  ].map(sanitize);

interface SweepFlags extends InstallationFlags {
  readonly unseenFor: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

async function sweepTokens({ services, audit, abort }: CommandContext, flags: SweepFlags): Promise<void> {
  const { application, platform, unseenFor } = flags;
  const { installationListing, installationReader, installationDeactivator } = await services();
  const unseenSince = new Date(Date.now() - unseenFor);
  const reason = `not seen for ${formatSpan(unseenFor)}`;
  const total = await installationReader.estimateCount();

  async function run(title: string, deactivate: ((ids: readonly string[]) => Promise<number>) | undefined) {
    const progress = createProgress(title, total, process.stderr);
    const result = await sweep(installationListing, {
      query: { application, platform },
      unseenSince,
      deactivate,
      abort,
      onProgress: (scanned) => {
        progress.at(Math.min(scanned, total));
      },
    });
    progress.end(abort.aborted ? "interrupted; run again to continue" : `scanned ${total} installations`);
    return result;
  }

  if (!flags.yes || flags.dryRun) {
    const { found } = await run("counting", undefined);
    const count = formatCount(found, "installation");
    printLine(`${count} last seen before ${unseenSince.toISOString()}`);
    if (found === 0 || flags.dryRun || abort.aborted) return;
    if (!(await isConfirmed(`Deactivate ${count}?`))) {
      printLine("nothing deactivated");
      return;
    }
  }
  const record = audit();
  let deactivated = 0;
  try {
    await run("sweeping", async (ids) => {
      const count = await installationDeactivator.deactivateUnseen(ids, { unseenSince, reason });
      deactivated += count;
      return count;
    });
  } finally {
    // Recorded even if the sweep fails half way.
    if (deactivated > 0) record({ action: "installations.swept", count: deactivated });
  }
  printLine(`deactivated ${formatCount(deactivated, "installation")}: ${reason}`);
}

const unitsMs = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000, millisecond: 1 };

/** Formats a time in its largest whole unit, so that nothing is rounded: 36 hours are not 2 days. */
function formatSpan(spanMs: number): string {
  const [unit, unitMs] = Object.entries(unitsMs).find(([, ms]) => spanMs % ms === 0) ?? ["millisecond", 1];
  return formatCount(spanMs / unitMs, unit);
}
