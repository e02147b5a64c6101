import type { OffsetRange } from "@topicsync/kafka";
import type {
  ImpactExample,
  ImpactRead,
  ImpactResult,
  ImpactTopic,
  PerDay,
} from "../../../schemas/impact.ts";
import type { Backtest } from "../../plans/impact/backtest.ts";
import { formatCount } from "./format.ts";
import { sanitize, type Output } from "./output.ts";
import { createTableWriter } from "./table.ts";

/** With more topics that have examples, `--json` shows the others. */
const maxTopicsWithExamples = 20;
const maxListed = 20;

/** Writes a preview as text. */
export async function printImpact(
  output: Output,
  { complete, read, topics, total }: ImpactResult,
): Promise<void> {
  await printRead(output, read);
  if (!complete) await output.write("The time was over before everything was read.\n");
  if (topics.length === 0) {
    await output.write("\nThe filters of no topic change.\n");
    return;
  }
  await output.write("\n");
  const table = await createTableWriter(output, [
    ...["external id", "filters", "before", "after", "newly", "no longer"].map((head) => ({ head })),
    { head: "copies a day" },
  ]);
  for (const topic of topics) if (!(await table.add(toImpactRow(topic)))) return;
  await table.end();
  if (topics.length > 1)
    await output.write(
      `\n${formatCount(topics.length, "topic")}: ${total.before} copies before, ${total.after} after${formatPerDay(total.perDay)}\n`,
    );
  await printExamples(output, topics);
}

const toImpactRow = ({
  externalId,
  change,
  before,
  after,
  newly,
  noLonger,
  perDay,
}: ImpactTopic): string[] => [
  sanitize(externalId),
  change,
  ...[before, after, newly, noLonger].map(String),
  perDay === null ? "unknown" : formatSigned(perDay.copies),
];

const formatSigned = (count: number): string => (count > 0 ? `+${count}` : String(count));

function formatPerDay(perDay: PerDay | null): string {
  if (perDay === null) return "";
  const megabytes = (perDay.bytes / 1_000_000).toFixed(1);
  return `; about ${formatSigned(perDay.copies)} copies and ${megabytes} MB a day`;
}

/** Says what was read, and how to read it again. */
async function printRead(output: Output, read: ImpactRead): Promise<void> {
  const {
    kafkaTopic,
    partitions,
    firstTime,
    lastTime,
    records,
    events,
    rejected,
    rejectedExamples,
    withoutRecord,
  } = read;
  const from = kafkaTopic === null ? "" : ` of ${sanitize(kafkaTopic)}`;
  const time = firstTime === null ? "" : `, from ${firstTime} to ${lastTime ?? ""}`;
  const notEvents = Object.entries(rejected).map(([code, count]) => `${String(count)} ${code}`);
  const others = notEvents.length === 0 ? "" : `; not events: ${notEvents.join(", ")}`;
  const missing = withoutRecord === 0 ? "" : `; ${formatCount(withoutRecord, "offset")} without a record`;
  await output.write(
    `read ${formatCount(records, "record")}${from}${time}: ${formatCount(events, "event")}${others}${missing}\n`,
  );
  if (partitions.length > 0) await output.write(`the same again: --offsets ${formatRanges(partitions)}\n`);
  if (rejectedExamples.length > 0) {
    const places = rejectedExamples.map(({ partition, offset, code }) =>
      kafkaTopic === null ? `line ${offset} ${code}` : `${partition}:${offset} ${code}`,
    );
    await output.write(`not events, for example: ${places.join(", ")}\n`);
  }
}

const formatRanges = (ranges: readonly OffsetRange[]): string =>
  ranges.map(({ partition, from, to }) => `${partition}:${from}-${to}`).join(",");

async function printExamples(output: Output, topics: readonly ImpactTopic[]): Promise<void> {
  const shown = topics.filter(({ examples }) => examples.newly.length + examples.noLonger.length > 0);
  for (const { externalId, examples } of shown.slice(0, maxTopicsWithExamples)) {
    const lines = [
      ...examples.newly.map((example) => formatExample("+", example)),
      ...examples.noLonger.map((example) => formatExample("-", example)),
    ];
    await output.write(`\n${sanitize(externalId)}\n${lines.map((line) => `  ${line}\n`).join("")}`);
  }
  const more = shown.length - maxTopicsWithExamples;
  if (more > 0) await output.write(`\nand examples of ${formatCount(more, "topic")} more: --json\n`);
}

function formatExample(sign: "+" | "-", { event, time, decidedBy }: ImpactExample): string {
  const reasons = decidedBy.map(({ version, condition, held, found }) => {
    const values =
      found === null || found.length === 0 ? "nothing" : found.map((one) => JSON.stringify(one)).join(", ");
    const which = version === "before" ? "old" : "new";
    return `${held ? "meets" : "does not meet"} the ${which} ${condition} (has ${values})`;
  });
  const why = reasons.length === 0 ? "" : `  ${reasons.join("; ")}`;
  return sanitize(`${sign} ${event}${time === null ? "" : `  ${time}`}${why}`);
}

/** Writes the result of a backtest, as text or as NDJSON. */
export async function printBacktest(
  output: Output,
  { counts, read, json }: { readonly counts: Backtest; readonly read: ImpactRead; readonly json: boolean },
): Promise<void> {
  if (json) {
    await writeLines(output, read, counts);
    return;
  }
  await printRead(output, read);
  if (counts.types.length > 0) await output.write("\n");
  const types = await createTableWriter(output, [
    { head: "event type" },
    { head: "events" },
    { head: "without a topic" },
  ]);
  for (const [name, { events, unmatched }] of counts.types.slice(0, maxListed))
    await types.add([sanitize(name === "" ? "-" : name), String(events), formatShare(unmatched, events)]);
  if (counts.types.length > 0) await types.end();
  const { topics } = counts;
  const never = topics.filter(([, events]) => events === 0);
  const always = topics.filter(([, events]) => events === read.events && events > 0);
  await output.write(`\n${formatCount(topics.length, "topic")}\n`);
  await output.write(`  ${never.length} without an event${listIds(never)}\n`);
  await output.write(`  ${always.length} with every event${listIds(always)}\n`);
}

const formatShare = (part: number, whole: number): string =>
  `${part} (${((100 * part) / whole).toFixed(1)} %)`;

function listIds(topics: readonly (readonly [externalId: string, events: number])[]): string {
  if (topics.length === 0) return "";
  const shown = topics.slice(0, maxListed).map(([externalId]) => sanitize(externalId));
  const more = topics.length - shown.length;
  return `: ${shown.join(", ")}${more > 0 ? ` and ${more} more (--json shows all)` : ""}`;
}

async function writeLines(output: Output, read: ImpactRead, counts: Backtest): Promise<void> {
  const write = (line: object): Promise<boolean> => output.write(`${JSON.stringify(line)}\n`);
  if (!(await write({ kind: "read", ...read }))) return;
  for (const [eventType, count] of counts.types)
    if (!(await write({ kind: "type", eventType, ...count }))) return;
  for (const [externalId, events] of counts.topics)
    if (!(await write({ kind: "topic", externalId, events }))) return;
}
