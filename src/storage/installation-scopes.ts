import type { Collection } from "mongodb";

import type { InstallationFilter, Scope, Stretch } from "../installations/listing.ts";
import { between, toFilter } from "./installation-filter.ts";
import { fromInstallationRecord, type InstallationRecord } from "./installation-records.ts";
import { chunks } from "./look-up.ts";

/** So many questions are asked side by side. */
const scopesAtOnce = 10;

interface ScopesRead {
  readonly filter: InstallationFilter;
  readonly scopes: readonly Scope[];
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * Reads a user's installations of these applications and platforms, in the order of their ids. An index leads to those of each
 * scope; one question for all of them would be answered by looking at every record on SecantusDB.
 */
export async function readScopes(
  installations: Collection<InstallationRecord>,
  { filter, scopes, after, limit }: ScopesRead,
): Promise<Stretch> {
  const read = (scope: Scope): Promise<InstallationRecord[]> =>
    installations
      .find(
        { ...toFilter(filter), ...scope, ...between(after, undefined) },
        { sort: { _id: 1 }, limit, batchSize: limit + 1 },
      )
      .toArray();
  const all: InstallationRecord[] = [];
  for (const some of chunks(scopes, scopesAtOnce)) all.push(...(await Promise.all(some.map(read))).flat());
  const first = all.toSorted((one, other) => (one._id < other._id ? -1 : 1)).slice(0, limit);
  return {
    installations: first.map(fromInstallationRecord),
    last: first.length === limit ? first.at(-1)?._id : undefined,
    looked: all.length,
  };
}
