import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { findConflicts, getUniqueValues } from "../topics/rings.ts";
import { toExchange, type ExchangingChange } from "./batches.ts";
import { getDefinition, type Blocked, type PlannedChange } from "./plan.ts";
import type { PlanSource } from "./stores.ts";

const definitionsPerLookup = 200;

/**
 * Blocks changes to a combination that another topic has in the end. What is blocked keeps its own
 * combination, which may block others.
 */
export async function blockTaken(
  decisions: readonly (PlannedChange | Blocked)[],
  source: Pick<PlanSource, "findHolders">,
): Promise<{ changes: PlannedChange[]; blocked: Blocked[] }> {
  const blocked = decisions.filter((one): one is Blocked => "code" in one);
  let possible = decisions.filter((one): one is PlannedChange => !("code" in one)).map(toExchange);
  const holders = await findHolders(possible, source);
  for (;;) {
    const conflicts = findConflicts(possible, (value) => holders.has(value));
    if (conflicts.size === 0) return { changes: possible.map(({ change }) => change), blocked };
    for (const [{ change }, [conflict]] of conflicts) {
      const holder = conflict?.taker?.change.after?.externalId ?? holders.get(conflict?.value ?? "") ?? "";
      blocked.push(toBlocked(change, holder));
    }
    possible = possible.filter((one) => !conflicts.has(one));
  }
}

const toBlocked = ({ action, externalId, after }: PlannedChange, holder: string): Blocked => ({
  externalId: after?.externalId ?? externalId,
  code: "DUPLICATE_COMBINATION",
  message:
    `its name, namespace, headerQuery and contentQuery are those of "${holder}"` +
    (action === "create" ? `; if it is the same topic, add \`renamedFrom: ${holder}\`` : ""),
});

/** The external ids of topics, by the unique values that they have. */
async function findHolders(
  changes: readonly ExchangingChange[],
  source: Pick<PlanSource, "findHolders">,
): Promise<ReadonlyMap<string, string>> {
  const holders = new Map<string, string>();
  const wanted = changes.flatMap(({ change: { after }, taken }) =>
    taken.length === 0 ? [] : (getDefinition(after) ?? []),
  );
  for (const some of splitIntoBatches(wanted, definitionsPerLookup))
    for (const one of await source.findHolders(some))
      for (const value of getUniqueValues(one)) holders.set(value, one.externalId);
  return holders;
}
