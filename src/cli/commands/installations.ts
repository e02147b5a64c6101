import { InvalidArgumentError, Option, type Command } from "commander";

import { UnavailableError } from "@topicsync/lib/errors";
import type { Deactivated } from "../../../schemas/installations/deactivation.ts";
import type { InstallationList } from "../../../schemas/installations/list.ts";
import type { InstallationView } from "../../../schemas/installations/view.ts";
import { deactivateInstallations, listInstallations } from "../../operations/installations.ts";
import { runWithClient } from "../client/client.ts";
import { addQuery, addStream, type Query } from "../client/command.ts";
import { readPages, type OperationClient } from "../client/operation-client.ts";
import { isConfirmed, requireTerminal, type ConfirmFlags } from "../input/confirm.ts";
import { formatTimeAgo, parseDuration, parseTimeAgo } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { printError, printLine, sanitize } from "../output/output.ts";
import { addImportCommand } from "./installations-import.ts";

export function defineInstallations(installations: Command): void {
  addStream<InstallationView, InstallationList>(installations, {
    name: "list",
    operation: listInstallations,
    description: "list installations, sorted by id",
    members: {
      tokenSuffix: new Option("--token <token>", "only tokens that end like this one").argParser(parseToken),
      active: [
        new Option("--active", "only active ones").conflicts("inactive"),
        new Option("--inactive", "only inactive ones").preset(false),
      ],
      unseenSince: new Option(
        "--unseen-for <duration>",
        "only those not registered for this long: 12h, 270d",
      ).argParser(parseTimeAgo),
      fullTokens: new Option("--full-tokens", "print whole tokens, which `import` needs"),
    },
    read: (client, query) => readPages(client, listInstallations, { query: { ...query, limit: 1_000 } }),
    getItems: (page) => page.installations,
    columns: ["token", "application", "platform", "user", "active", "last seen", "reason"].map((head) => ({
      head,
    })),
    toRow: (one) =>
      [
        ...[one.token, one.application, one.platform, one.user, one.active ? "yes" : "no"],
        ...[formatMinute(new Date(one.lastSeenOn)), one.deactivatedReason ?? ""],
      ].map(sanitize),
    summarize: (count) => (count === 0 ? "No installations match." : formatCount(count, "installation")),
  });
  defineSweep(
    installations
      .command("sweep")
      .description(
        "deactivate tokens that were not registered for a long time; safe to interrupt and repeat",
      ),
  );
  addImportCommand(installations);
}

/** Proxies log URLs: only the end of a token is sent. */
function parseToken(token: string): string {
  if (token.length < 4) throw new InvalidArgumentError("It needs at least the last 4 characters of a token.");
  return token.slice(-12);
}

interface SweepFlags extends ServerFlag, ConfirmFlags {
  readonly unseenFor: number;
}

function defineSweep(command: Command): void {
  const readScope = addQuery(command, listInstallations, { only: ["application", "platform"] });
  command
    .requiredOption("--unseen-for <duration>", "not registered for this long: 270d", parseDuration)
    .option("--dry-run", "only count them")
    .option("--yes", "do not ask for confirmation")
    .option(...serverOption)
    .action((flags: SweepFlags) => {
      requireTerminal(command, flags);
      return runWithClient(flags, (client) => sweep(client, flags, readScope()));
    });
}

/** The operation deactivates at most 200. */
const idsPerRequest = 200;

async function sweep(client: OperationClient, flags: SweepFlags, scope: Query): Promise<void> {
  const unseenSince = formatTimeAgo(flags.unseenFor);
  const reason = `not seen for ${formatSpan(flags.unseenFor)}`;
  const readIds = () => readUnseen(client, { ...scope, active: true, unseenSince });
  if (!flags.yes || flags.dryRun) {
    let found = 0;
    for await (const ids of readIds()) found += ids.length;
    const count = formatCount(found, "installation");
    printLine(`${count} last seen before ${unseenSince}`);
    if (found === 0 || flags.dryRun) return;
    if (!(await isConfirmed(`Deactivate ${count}?`))) {
      printLine("nothing deactivated");
      return;
    }
  }
  let deactivated = 0;
  try {
    for await (const ids of readIds()) {
      const body = { ids, reason, unseenSince };
      deactivated += (await client.call<Deactivated>(deactivateInstallations, { body })).json.deactivated;
    }
  } finally {
    printLine(`deactivated ${formatCount(deactivated, "installation")}: ${reason}`);
  }
}

const scannedPerReport = 100_000;

/** Reads the ids of installations in batches; reports progress. Throws UnavailableError once aborted. */
async function* readUnseen(client: OperationClient, query: Query): AsyncGenerator<string[]> {
  let scanned = 0;
  let reported = 0;
  const request = { query: { ...query, limit: idsPerRequest } };
  for await (const page of readPages<InstallationList>(client, listInstallations, request)) {
    if (client.abort.aborted)
      throw new UnavailableError("interrupted; run the same command again to continue");
    const ids = page.installations.flatMap(({ id }) => id ?? []);
    if (ids.length > 0) yield ids;
    scanned += page.scanned;
    if (scanned < reported + scannedPerReport) continue;
    reported = scanned;
    printError(`  scanned ${scanned} installations`);
  }
}

const unitsMs = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000, millisecond: 1 };

/** Formats a time in its largest whole unit, so that nothing is rounded: 36 hours are not 2 days. */
function formatSpan(spanMs: number): string {
  const [unit, unitMs] = Object.entries(unitsMs).find(([, ms]) => spanMs % ms === 0) ?? ["millisecond", 1];
  return formatCount(spanMs / unitMs, unit);
}
