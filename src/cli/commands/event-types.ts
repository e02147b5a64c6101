import type { EventTypeView } from "../../../schemas/event-types.ts";
import { toEventTypeList, toEventTypeView } from "../../event-types/view.ts";
import type { CommandContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { openOutput, printJson, printLine, sanitize } from "../output/output.ts";
import { createTableWriter, type Column } from "../output/table.ts";

export async function listEventTypes({ services }: CommandContext, { json }: JsonFlag): Promise<void> {
  const list = toEventTypeList(await (await services()).eventTypes.list());
  if (json) printJson(list);
  else if (list.eventTypes.length === 0)
    printLine("No event types are known yet. A router learns them, or `topicsync events learn`.");
  else
    await printTable(
      typeColumns,
      list.eventTypes.map((type) => [
        sanitize(type.name),
        String(type.events),
        formatShare(type.share),
        String(type.sampled),
        `${type.pathCount}${type.complete ? "" : "+"}`,
        ...[type.firstOn, type.lastOn].map(formatTime),
      ]),
    );
}

const typeColumns = ["type", "events", "share", "sampled", "paths", "first", "last"].map((head) => ({
  head,
}));

export async function showEventType(
  { services }: CommandContext,
  name: string,
  { json }: JsonFlag,
): Promise<void> {
  const { eventTypes } = await services();
  const type = (await eventTypes.find(name)) ?? throwUnknown(name);
  const view = toEventTypeView(type, await eventTypes.list());
  if (json) printJson(view);
  else {
    await printTable(pathColumns, view.paths.map(toRow));
    const seen = `${formatCount(view.sampled, "event")} of ${view.events} looked into, since ${formatTime(view.sampledSince)}`;
    printLine(view.complete ? seen : `${seen}; there are more paths than these`);
  }
}

const pathColumns = [
  { head: "path" },
  { head: "events" },
  { head: "kinds" },
  { head: "last" },
  { head: "values", width: 50 },
];

const toRow = ({ path, share, kinds, lastOn, values }: EventTypeView["paths"][number]): string[] => [
  sanitize(path),
  formatShare(share),
  Object.keys(kinds).join(", "),
  formatTime(lastOn),
  sanitize(values?.join(", ") ?? ""),
];

export async function forgetEventType(
  { services }: CommandContext,
  name: string,
  { json }: JsonFlag,
): Promise<void> {
  if (!(await (await services()).eventTypes.forget(name))) throwUnknown(name);
  if (json) printJson({ forgotten: name });
  else printLine(sanitize(`forgot ${name}`));
}

function throwUnknown(name: string): never {
  throw new Error(`there is no event type "${name}"; \`topicsync events types\` lists them`);
}

async function printTable(columns: readonly Column[], rows: readonly string[][]): Promise<void> {
  const table = await createTableWriter(openOutput(), columns);
  for (const row of rows) if (!(await table.add(row))) return;
  await table.end();
}

const formatTime = (time: string): string => formatMinute(new Date(time));

/** "41 %"; a share that is not 0 or 1 never looks like it. */
const formatShare = (share: number): string => {
  const percent = share * 100;
  return `${percent > 0 && percent < 1 ? "<1" : percent < 100 ? Math.min(99, Math.round(percent)) : 100} %`;
};
