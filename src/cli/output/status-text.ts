import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { formatCount } from "./format.ts";
import { printLine, sanitize } from "./output.ts";
import { formatTable } from "./table.ts";

export async function printStatus(status: SyncStatus): Promise<void> {
  const { pushFeedback, router, problems, since } = status;
  await printLog(status, { since, what: "announcement" });
  if (pushFeedback !== null) await printLog(pushFeedback, { since, what: "report" });
  if (router !== null) await printRouter(router, since);
  for (const problem of problems) printLine(`Unknown: ${problem}`);
}

async function printRouter(router: NonNullable<SyncStatus["router"]>, since: string | null): Promise<void> {
  await printLog(router, { since, what: "event" });
  const { index, busiest } = router;
  // An earlier program does not have it.
  const backfills = router.backfills ?? 0;
  if (index !== null && index.state !== "live")
    printLine(`Topics are being loaded: ${index.topicsRead ?? 0} so far. Events wait until then.`);
  if (backfills > 0)
    printLine(`${formatCount(backfills, "backfill")} waiting or running: \`topicsync backfills list\`.`);
  if (busiest.length > 0) {
    printLine("Busiest topics:");
    const rows = busiest.map(({ externalId, events }) => [sanitize(externalId), String(events)]);
    printLine(await formatTable(["external id", "events"], rows));
  }
}

type Log = Pick<SyncStatus, "group" | "topic" | "partitions"> & {
  readonly counts: SyncStatus["counts"] | NonNullable<SyncStatus["pushFeedback" | "router"]>["counts"];
};

async function printLog(
  { group, topic, partitions, counts }: Log,
  { since, what }: { readonly since: string | null; readonly what: string },
): Promise<void> {
  printLine(`Group ${group}, topic ${topic}: ${summarize(partitions, what)}.`);
  if (partitions.length > 0) await printPartitions(partitions);
  for (const { partition, lastStableOffset, openTransactionSeconds: seconds } of partitions)
    if (seconds !== null && seconds > 0)
      printLine(
        `A transaction has been open in partition ${partition} for ${formatDuration(seconds)}: records from offset ${lastStableOffset ?? "?"} on cannot be read until it ends.`,
      );
  if (counts !== null && since !== null) printLine(`Since ${since}: ${formatCounts(counts)}.`);
}

type Partitions = SyncStatus["partitions"];

function summarize(partitions: Partitions, what: string): string {
  if (partitions.length === 0) return "no partitions visible";
  if (partitions.some(({ lagRecords }) => lagRecords === null)) return "partly unknown";
  const records = partitions.reduce((sum, { lagRecords }) => sum + (lagRecords ?? 0), 0);
  const seconds = Math.max(...partitions.map(({ lagSeconds }) => lagSeconds ?? 0));
  if (records === 0) return `in sync, every ${what} is applied`;
  return `${formatCount(records, what)} behind, the oldest for ${formatDuration(seconds)}`;
}

async function printPartitions(partitions: Partitions): Promise<void> {
  const known = (value: number | null): string => (value === null ? "?" : String(value));
  const head = ["partition", "committed", "log end", "lag", "behind", "owner", "state"];
  const rows = partitions.map((one) => [
    known(one.partition),
    // Before the first announcement there is no position.
    one.committedOffset === null && one.lagRecords !== null ? "none" : known(one.committedOffset),
    known(one.logEnd),
    known(one.lagRecords),
    one.lagSeconds === null ? "?" : one.lagSeconds === 0 ? "" : formatDuration(one.lagSeconds),
    one.owner ?? (one.assigned === null ? "?" : "nobody"),
    formatState(one),
  ]);
  printLine(await formatTable(head, rows));
}

function formatState({ state, reason, cause }: Partitions[number]): string {
  if (reason === null) return state ?? "";
  return sanitize(`${state ?? ""}${cause === "error" ? " by an unexpected error" : ""}: ${reason}`);
}

function formatCounts({ rejected, ...counts }: NonNullable<Log["counts"]>): string {
  const codes = Object.entries(rejected).map(([code, count]) => `${code} ${count}`);
  const total = Object.values(rejected).reduce((sum, count) => sum + count, 0);
  const outcomes = Object.entries(counts).map(([outcome, count]) => `${outcome} ${count}`);
  return [...outcomes, `rejected ${total}${codes.length === 0 ? "" : ` (${codes.join(", ")})`}`].join(", ");
}

function formatDuration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 360) / 10} h` : `${Math.round(seconds / 86_400)} days`;
}
