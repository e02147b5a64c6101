import type { BackfillView } from "../../../schemas/backfill.ts";
import { formatCount } from "./format.ts";

/** Describes a backfill in lines. */
export function formatBackfill(backfill: BackfillView): string[] {
  const { id, externalId, version, state, reason, from, to, done, offsets, copies } = backfill;
  return [
    `backfill   ${id}`,
    `topic      ${externalId}, version ${version}`,
    `range      from ${from} ${to === null ? "on" : `to ${to}`}`,
    `state      ${reason === null ? state : `${state}: ${reason}`}`,
    `progress   ${done} of ${formatCount(offsets, "offset")}, ${formatCopies(copies)} to ${backfill.egressTopic}`,
    `requested  ${backfill.requestedOn} by ${backfill.requestedBy}`,
    ...(backfill.endedOn === null ? [] : [`ended      ${backfill.endedOn}`]),
  ];
}

const formatCopies = (count: number): string => `${count} ${count === 1 ? "copy" : "copies"}`;
