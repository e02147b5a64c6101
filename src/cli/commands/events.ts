import type { Command } from "commander";

import type { EventTypeList, EventTypeView } from "../../../schemas/event-types.ts";
import { showEventType, listEventTypes } from "../../operations/event-types.ts";
import { addOperation } from "../client/command.ts";
import { defineEventLog } from "./event-log.ts";
import { formatCount, formatMinute } from "../output/format.ts";
import { sanitize } from "../output/output.ts";
import { formatTable } from "../output/table.ts";

export function defineEvents(events: Command): void {
  defineEventLog(events);
  addOperation<EventTypeList>(events, {
    name: "types",
    operation: listEventTypes,
    description: "list the types of the last events, the most frequent first",
    format: async ({ sample, reason = "", eventTypes }) => [
      ...(await formatLines(
        ["type", "events", "share", "paths"],
        eventTypes.map(({ name, events: count, share, pathCount, complete }) => [
          ...[name, String(count), formatShare(share), `${pathCount}${complete ? "" : "+"}`],
        ]),
      )),
      sample === undefined ? reason : formatSample(sample),
    ],
  });
  addOperation<EventTypeView>(events, {
    name: "type",
    operation: showEventType,
    description:
      "show the paths of an event type, with their share of its last events, their kinds and values",
    format: async ({ sample, events: count, complete, paths }) => [
      ...(await formatLines(
        ["path", "events", "kinds", "values"],
        paths.map(({ path, share, kinds, values = [] }) => [
          ...[path, formatShare(share), Object.keys(kinds).join(", "), values.join(", ")],
        ]),
        [null, null, null, 50],
      )),
      `${count} of ${formatSample(sample)}${complete ? "" : "; there are more paths than these"}`,
    ],
  });
}

async function formatLines(
  head: string[],
  rows: readonly string[][],
  colWidths: (number | null)[] = [],
): Promise<string[]> {
  if (rows.length === 0) return [];
  const cells = rows.map((row) => row.map(sanitize));
  return (await formatTable(head, cells, { colWidths })).split("\n");
}

/** "41 %"; a share that is not 0 or 1 never looks like it. */
const formatShare = (share: number): string => {
  const percent = share * 100;
  return `${percent > 0 && percent < 1 ? "<1" : percent < 100 ? Math.min(99, Math.round(percent)) : 100} %`;
};

/** "the last 400 events, from 2026-11-22 14:05 to 2026-11-22 14:07". */
function formatSample({ events, rejected, from, to }: EventTypeView["sample"]): string {
  const times = from && to ? `, from ${formatMinute(new Date(from))} to ${formatMinute(new Date(to))}` : "";
  const others = rejected === 0 ? "" : `; ${formatCount(rejected, "record")} skipped: not a valid event`;
  return `the last ${formatCount(events, "event")}${times}${others}`;
}
