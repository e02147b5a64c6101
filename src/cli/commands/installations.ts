import { InvalidArgumentError, Option, type Command } from "commander";

import { UnavailableError } from "@topicsync/lib/errors";
import type { Deactivated } from "../../../schemas/installations/deactivation.ts";
import {
  installationQuerySchema,
  type InstallationList,
  type InstallationListQuery,
} from "../../../schemas/installations/list.ts";
import type { InstallationView } from "../../../schemas/installations/view.ts";
import { deactivateInstallations, listInstallations } from "../../operations/installations.ts";
import { runWithClient } from "../client/client.ts";
import { addOptions, listMembers } from "../client/members.ts";
import type { OperationClient } from "../client/operation-client.ts";
import { isConfirmed } from "../input/confirm.ts";
import { parseDuration, type JsonFlag } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { printItems } from "../output/items.ts";
import { printError, printLine, sanitize } from "../output/output.ts";
import { addImportCommand } from "./installations-import.ts";

export function defineInstallations(installations: Command): void {
  defineList(installations.command("list").description("list installations, sorted by id"));
  defineSweep(
    installations
      .command("sweep")
      .description(
        "deactivate tokens that were not registered for a long time; safe to interrupt and repeat",
      ),
  );
  addImportCommand(installations);
}

const queryMembers = listMembers(installationQuerySchema);
const scopeMembers = queryMembers.filter(({ name }) => ["application", "platform"].includes(name));

type Query = Partial<Omit<InstallationListQuery, "limit" | "after">>;

interface ListFlags extends JsonFlag, ServerFlag {
  readonly inactive?: true;
  readonly unseenFor?: number;
}

function defineList(command: Command): void {
  const readQuery = addOptions(command, queryMembers, {
    tokenSuffix: new Option("--token <token>", "only tokens that end like this one").argParser(parseToken),
    active: new Option("--active", "only active ones").conflicts("inactive"),
    ...{ unseenSince: undefined, limit: undefined, after: undefined },
  });
  command
    .option("--inactive", "only inactive ones")
    .option("--unseen-for <duration>", "only those not registered for this long: 12h, 270d", parseDuration)
    .option(
      "--json",
      "print NDJSON, one installation per line, instead of a table; with --full-tokens, `import` reads it",
    )
    .option(...serverOption)
    .action(({ inactive, unseenFor, ...flags }: ListFlags) =>
      list(flags, {
        ...readQuery(),
        ...(inactive && { active: false }),
        ...(unseenFor !== undefined && { unseenSince: toTimeBefore(unseenFor) }),
      }),
    );
}

/** Proxies log URLs: only the end of a token is sent. */
function parseToken(token: string): string {
  if (token.length < 4) throw new InvalidArgumentError("It needs at least the last 4 characters of a token.");
  return token.slice(-12);
}

const toTimeBefore = (spanMs: number): string => new Date(Math.max(0, Date.now() - spanMs)).toISOString();

async function* readPages(
  client: OperationClient,
  query: Query,
  limit: number,
): AsyncGenerator<InstallationList> {
  let after: string | undefined;
  do {
    const { json: page } = await client.call<InstallationList>(listInstallations, {
      query: { ...query, limit, after },
    });
    yield page;
    after = page.next ?? undefined;
  } while (after !== undefined);
}

const columns = ["token", "application", "platform", "user", "active", "last seen", "reason"].map((head) => ({
  head,
}));

async function list({ json, server }: JsonFlag & ServerFlag, query: Query): Promise<void> {
  const printed = await runWithClient({ server }, (client) =>
    printItems(readAll(client, query), { json: json === true, columns, toRow, abort: client.abort }),
  );
  if (printed === undefined || json) return;
  printLine(printed.count === 0 ? "No installations match." : formatCount(printed.count, "installation"));
}

async function* readAll(client: OperationClient, query: Query): AsyncGenerator<InstallationView> {
  for await (const { installations } of readPages(client, query, 1_000)) yield* installations;
}

const toRow = (one: InstallationView): string[] =>
  [
    one.token,
    one.application,
    one.platform,
    one.user,
    one.active ? "yes" : "no",
    formatMinute(new Date(one.lastSeenOn)),
    one.deactivatedReason ?? "",
  ].map(sanitize);

interface SweepFlags extends ServerFlag {
  readonly unseenFor: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

function defineSweep(command: Command): void {
  const readScope = addOptions(command, scopeMembers);
  command
    .requiredOption("--unseen-for <duration>", "not registered for this long: 270d", parseDuration)
    .option("--dry-run", "only count them")
    .option("--yes", "do not ask for confirmation")
    .option(...serverOption)
    .action((flags: SweepFlags) => {
      if (!flags.yes && !flags.dryRun && !(process.stdin.isTTY && process.stdout.isTTY))
        command.error("error: no terminal to ask for confirmation: pass --yes, or --dry-run to count only");
      return runWithClient(flags, (client) => sweep(client, flags, readScope()));
    });
}

/** The operation deactivates at most 200. */
const idsPerRequest = 200;

async function sweep(client: OperationClient, flags: SweepFlags, scope: Query): Promise<void> {
  const unseenSince = toTimeBefore(flags.unseenFor);
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
  for await (const page of readPages(client, query, idsPerRequest)) {
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
