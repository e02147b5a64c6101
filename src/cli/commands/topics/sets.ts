import { exitCodes, PlanError } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import type { KnownTopicView, TopicSetDetail, TopicSetView } from "../../../../schemas/topics/sets.ts";
import { getSet, listSets } from "../../../operations/topic-sets.ts";
import { decideAdoption, decideRelease } from "../../../plans/decide-change.ts";
import { toPlanFile } from "../../../plans/plan-file.ts";
import type { PlannedChange } from "../../../plans/plan.ts";
import { runWithClient } from "../../client/client.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import { getCommandLineUser } from "../../context.ts";
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
  await runWithClient({ server }, async (client) => {
    const output = openOutput();
    let count = 0;
    for (const name of set === undefined ? await listNames(client) : [set])
      for await (const drift of streamDrift(client, name)) {
        count += 1;
        const { externalId, path, message } = drift;
        const line = json
          ? JSON.stringify({ set: name, ...drift })
          : sanitize(`${externalId} (${name}, ${path ?? "no file"}): ${message}`);
        if (!(await output.write(`${line}\n`))) return;
      }
    if (!json) printError(count === 0 ? "no drift" : `${count} drifted`);
    if (count > 0 && failOnChanges) process.exitCode = exitCodes.changes;
  });
}

async function listNames(client: OperationClient): Promise<string[]> {
  const { json } = await client.call<{ readonly sets: readonly TopicSetView[] }>(listSets);
  return json.sets.map(({ name }) => name);
}

async function* streamDrift(client: OperationClient, name: string) {
  for (let after: string | null | undefined; after !== null;) {
    const request = { parameters: { name }, query: { after } };
    const { drift } = (await client.call<TopicSetDetail>(getSet, request)).json;
    yield* drift.topics;
    after = drift.next;
  }
}

/** Makes topics members of a set. */
export const adoptTopics = (
  externalIds: readonly string[],
  { set, server }: ServerFlag & { readonly set: string },
): Promise<void> =>
  runWithTarget({ server }, async (target) => {
    const decisions = (await findAll(externalIds, target)).map((known) =>
      decideAdoption(known, { set, adopt: true }),
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
      ({ details }) => details !== null && details.set !== null,
    );
    const bySet = Map.groupBy(members, ({ details }) => details?.set ?? "");
    if (bySet.size === 0) printLine("none of them belongs to a set");
    for (const [set, all] of bySet) await applyOwnership(set, all.map(decideRelease), target);
  });

async function findAll(externalIds: readonly string[], { source }: PlanTarget): Promise<KnownTopicView[]> {
  const known = await source.findKnown(externalIds);
  const missing = externalIds.filter((id) => !known.some(({ externalId }) => externalId === id));
  if (missing.length > 0)
    throw new PlanError(`there is no topic with the external id "${missing.join('", "')}"`);
  return known;
}

async function applyOwnership(set: string, changes: PlannedChange[], target: PlanTarget): Promise<void> {
  const { source } = target;
  const origin = (await source.findSet(set))?.origin;
  const plan = toPlanFile({
    database: source.databaseId,
    set,
    ...(origin !== undefined && { origin }),
    createdOn: currentDate().toISOString(),
    createdBy: getCommandLineUser(),
    changes,
  });
  await applyPlan(plan, target, {});
}
