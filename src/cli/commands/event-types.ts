import type { EventTypeView } from "../../../schemas/event-types.ts";
import { toEventTypeList, toEventTypeView } from "../../event-types/view.ts";
import type { CommandContext } from "../context.ts";
import { formatSample, readSample } from "../input/event-sample.ts";
import type { JsonFlag } from "../input/options.ts";
import { openOutput, printJson, printLine, sanitize } from "../output/output.ts";
import { createTableWriter, type Column } from "../output/table.ts";

export async function listEventTypes(context: CommandContext, { json }: JsonFlag): Promise<void> {
  const sample = await readSample(context);
  const list = toEventTypeList(sample);
  if (json) printJson(list);
  else {
    if (list.eventTypes.length > 0)
      await printTable(
        typeColumns,
        list.eventTypes.map((type) => [
          sanitize(type.name),
          String(type.events),
          formatShare(type.share),
          `${type.pathCount}${type.complete ? "" : "+"}`,
        ]),
      );
    printLine(formatSample(sample));
  }
}

const typeColumns = ["type", "events", "share", "paths"].map((head) => ({ head }));

export async function showEventType(
  context: CommandContext,
  name: string,
  { json }: JsonFlag,
): Promise<void> {
  const sample = await readSample(context);
  const type = sample.types.find((one) => one.name === name);
  if (type === undefined)
    throw new Error(
      `there is no event type "${name}" among ${formatSample(sample)}; \`topicsync events types\` lists them`,
    );
  const view = toEventTypeView(type, sample, { showsValues: true });
  if (json) printJson(view);
  else {
    await printTable(pathColumns, view.paths.map(toRow));
    const seen = `${type.events} of ${formatSample(sample)}`;
    printLine(view.complete ? seen : `${seen}; there are more paths than these`);
  }
}

const pathColumns = [{ head: "path" }, { head: "events" }, { head: "kinds" }, { head: "values", width: 50 }];

const toRow = ({ path, share, kinds, values }: EventTypeView["paths"][number]): string[] => [
  sanitize(path),
  formatShare(share),
  Object.keys(kinds).join(", "),
  sanitize(values?.join(", ") ?? ""),
];

async function printTable(columns: readonly Column[], rows: readonly string[][]): Promise<void> {
  const table = await createTableWriter(openOutput(), columns);
  for (const row of rows) if (!(await table.add(row))) return;
  await table.end();
}

/** "41 %"; a share that is not 0 or 1 never looks like it. */
const formatShare = (share: number): string => {
  const percent = share * 100;
  return `${percent > 0 && percent < 1 ? "<1" : percent < 100 ? Math.min(99, Math.round(percent)) : 100} %`;
};
