import type { Filter } from "mongodb";

import type { InstallationFilter } from "../installations/listing.ts";
import type { InstallationRecord } from "./installation-records.ts";

/** The records that are meant. */
export function toFilter({
  application,
  platform,
  user,
  active,
  tokenEnd,
  unseenSince,
}: InstallationFilter): Filter<InstallationRecord> {
  const equal = Object.entries({ application, platform, user, active });
  return {
    ...Object.fromEntries(equal.filter(([, value]) => value !== undefined)),
    ...(unseenSince === undefined ? {} : { last_seen_on: { $lt: unseenSince } }),
    ...(tokenEnd === undefined ? {} : { $expr: tokenEndsWith(tokenEnd) }),
  };
}

/** As an expression: SecantusDB finds nothing by a regular expression on a field that an index begins with. */
const tokenEndsWith = (end: string) => ({
  $regexMatch: { input: "$token", regex: `${end.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` },
});

/** The records behind an id, up to another. */
export function between(after: string | undefined, end: string | undefined): Filter<InstallationRecord> {
  if (after === undefined && end === undefined) return {};
  return {
    _id: { ...(after === undefined ? {} : { $gt: after }), ...(end === undefined ? {} : { $lte: end }) },
  };
}
