import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { getCombination, type TopicDefinition } from "../topics/topic.ts";
import type { Blocked, PlannedChange } from "./plan.ts";
import type { PlanSource } from "./stores.ts";

const definitionsPerLookup = 200;

/**
 * Blocks changes to a combination that another topic has in the end. What is blocked keeps its own
 * combination, which may block others.
 */
export async function findTaken(
  decisions: readonly (PlannedChange | Blocked)[],
  source: PlanSource,
): Promise<{ changes: PlannedChange[]; blocked: Blocked[] }> {
  const blocked = decisions.filter((one): one is Blocked => "code" in one);
  let changes = decisions.filter((one): one is PlannedChange => !("code" in one));
  const holders = await findHolders(changes.flatMap(getTaken), source);
  for (let count = -1; count !== changes.length;) {
    count = changes.length;
    const freeing = new Set(changes.filter(frees).map(({ externalId }) => externalId));
    const taking = new Map<string, PlannedChange>();
    const possible: PlannedChange[] = [];
    for (const change of changes) {
      const [wanted] = getTaken(change);
      const key = wanted && getCombination(wanted);
      const stored = key === undefined ? undefined : holders.get(key);
      const other = key === undefined ? undefined : taking.get(key);
      const holder =
        stored !== undefined && stored.externalId !== change.externalId && !freeing.has(stored.externalId)
          ? stored.externalId
          : (other?.after?.externalId ?? undefined);
      if (key === undefined || holder === undefined) {
        possible.push(change);
        if (key !== undefined) taking.set(key, change);
        continue;
      }
      blocked.push({
        externalId: change.after?.externalId ?? change.externalId,
        code: "DUPLICATE_COMBINATION",
        message:
          `its name, namespace, headerQuery and contentQuery are those of "${holder}"` +
          (change.action === "create" ? `; if it is the same topic, add \`renamedFrom: ${holder}\`` : ""),
      });
    }
    changes = possible;
  }
  return { changes, blocked };
}

/** The combination that a change takes, if it changes it. */
function getTaken({ before, after }: PlannedChange): TopicDefinition[] {
  const wanted = after?.definition;
  if (wanted === undefined) return [];
  const has = before?.definition;
  return has !== undefined && getCombination(has) === getCombination(wanted) ? [] : [wanted];
}

/** Whether a change gives up the combination that its topic has. */
const frees = (change: PlannedChange): boolean =>
  change.action === "disable" || (change.before?.definition !== undefined && getTaken(change).length > 0);

async function findHolders(
  wanted: readonly TopicDefinition[],
  source: PlanSource,
): Promise<ReadonlyMap<string, TopicDefinition>> {
  const holders = new Map<string, TopicDefinition>();
  for (const some of splitIntoBatches(wanted, definitionsPerLookup))
    for (const one of await source.findHolders(some)) holders.set(getCombination(one), one);
  return holders;
}
