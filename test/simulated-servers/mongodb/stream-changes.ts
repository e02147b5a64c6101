import type { Change, Commit, StreamChange } from "./commands.ts";
import { copy } from "./documents.ts";

/**
 * Returns what a change stream reports of a change. As with "updateLookup", an update has the record that a
 * majority has by now.
 */
export function toStreamChanges(
  { collection, key, before, after, isReplaced }: Change,
  replicated: readonly Commit[],
): readonly StreamChange[] {
  if (after === undefined) return [];
  if (before === undefined || isReplaced)
    return [{ operationType: before === undefined ? "insert" : "replace", fullDocument: copy(after) }];
  const later = replicated
    .flatMap((commit) => commit.changes)
    .findLast((one) => one.collection === collection && one.key === key);
  return [{ operationType: "update", fullDocument: later?.after === undefined ? null : copy(later.after) }];
}
