import type { Command } from "commander";

import type { BackfillView } from "../../../schemas/backfill.ts";
import { cancelBackfill, getBackfill, listBackfills } from "../../operations/backfills.ts";
import { addList, addOperation } from "../client/command.ts";
import { formatBackfill } from "../output/backfill-text.ts";
import { formatMinute } from "../output/format.ts";

/** Defines `topicsync backfills …`; `topics backfill` requests one. */
export function defineBackfills(backfills: Command): void {
  addList<BackfillView>(backfills, {
    name: "list",
    operation: listBackfills,
    description: "list the latest backfills",
    member: "backfills",
    head: ["id", "topic", "requested", "state", "done", "copies"],
    toRow: ({ id, externalId, requestedOn, state, done, offsets, copies }) => [
      ...[id, externalId, formatMinute(new Date(requestedOn)), state],
      ...[offsets === 0 ? "" : `${Math.floor((100 * done) / offsets)} %`, String(copies)],
    ],
    empty: "No backfills. Request one with `topicsync topics backfill EXTERNAL-ID --from TIME`.",
  });
  for (const [name, operation, description] of [
    ["show", getBackfill, "show the state and progress of a backfill"],
    ["cancel", cancelBackfill, "cancel a backfill; what was forwarded stays"],
  ] as const)
    addOperation<BackfillView>(backfills, { name, operation, description, format: formatBackfill });
}
