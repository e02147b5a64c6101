import { exitCodes, PlanError } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import { decideAdoption, decideRelease } from "../../../plans/decide-change.ts";
import { findDrift } from "../../../plans/drift.ts";
import { toPlanFile } from "../../../plans/plan-file.ts";
import type { PlannedChange } from "../../../plans/plan.ts";
import type { KnownTopic } from "../../../plans/stores.ts";
import type { ServerFlag } from "../../input/server.ts";
import type { JsonFlag } from "../../input/options.ts";
import { openOutput, printError, printLine, sanitize } from "../../output/output.ts";
import { runWithTarget, type PlanTarget } from "./plan-target.ts";
import { applyPlan } from "./apply.ts";

export interface DriftFlags extends JsonFlag {
  readonly set?: string;
  readonly drift?: true;
  readonly failOnChanges?: true;
  readonly server?: string;
}

/** Lists members of sets that something else has changed. */
export async function showDrift({ set, failOnChanges, server, json }: DriftFlags): Promise<void> {
  await runWithTarget({ server }, async ({ source }) => {
    const output = openOutput();
    let count = 0;
    for (const name of set === undefined ? await source.listSets() : [set])
      for await (const drift of findDrift(source, name)) {
        count += 1;
        const { externalId, path, message } = drift;
        const line = json
          ? JSON.stringify(drift)
          : sanitize(`${externalId} (${name}, ${path ?? "no file"}): ${message}`);
        if (!(await output.write(`${line}\n`))) return;
      }
    if (!json) printError(count === 0 ? "no drift" : `${count} drifted`);
    if (count > 0 && failOnChanges) process.exitCode = exitCodes.changes;
  });
}

/** Makes topics members of a set. */
export const adoptTopics = (
  externalIds: readonly string[],
  { set, server }: ServerFlag & { readonly set: string },
): Promise<void> =>
  runWithTarget({ server }, async (target) => {
    const decisions = (await findAll(externalIds, target)).map((known) =>
      decideAdoption(known, { set, adopt: true, takeOver: undefined }),
    );
    const changes: PlannedChange[] = [];
    for (const one of decisions) {
      if (one !== undefined && "code" in one) throw new PlanError(`"${one.externalId}" ${one.message}`);
      if (one !== undefined) changes.push(one);
    }
    await applyOwnership(set, changes, target);
  });

/** Ends the membership of topics in their sets. */
export const releaseTopics = (externalIds: readonly string[], { server }: ServerFlag): Promise<void> =>
  runWithTarget({ server }, async (target) => {
    const members = (await findAll(externalIds, target)).filter(
      ({ details }) => details?.membership !== undefined,
    );
    const bySet = Map.groupBy(members, ({ details }) => details?.membership?.set ?? "");
    if (bySet.size === 0) printLine("none of them belongs to a set");
    for (const [set, all] of bySet) await applyOwnership(set, all.map(decideRelease), target);
  });

async function findAll(externalIds: readonly string[], { source }: PlanTarget): Promise<KnownTopic[]> {
  const known = await source.findKnown(externalIds);
  const missing = externalIds.filter((id) => !known.some(({ externalId }) => externalId === id));
  if (missing.length > 0)
    throw new PlanError(`there is no topic with the external id "${missing.join('", "')}"`);
  return known;
}

async function applyOwnership(
  set: string,
  changes: readonly PlannedChange[],
  target: PlanTarget,
): Promise<void> {
  const { source, user } = target;
  const origin = (await source.findSet(set))?.origin;
  const plan = {
    database: source.databaseId,
    set,
    origin,
    createdOn: currentDate(),
    createdBy: user,
    changes,
  };
  await applyPlan(plan, toPlanFile(plan).sha256, target, {});
}
