import { exitCodes, UnavailableError, PlanError } from "@topicsync/lib/errors";
import { createDatabaseError } from "../../../plans/apply.ts";
import { toBatches } from "../../../plans/batches.ts";
import { parsePlan } from "../../../plans/plan-file.ts";
import type { TopicPlan } from "../../../plans/plan.ts";
import { readTextFile } from "../../input/files.ts";
import type { JsonFlag } from "../../input/options.ts";
import { formatCount } from "../../output/format.ts";
import { printError, printJson, printLine, sanitize } from "../../output/output.ts";
import { applyBatch, runWithTarget, type PlanTarget } from "./plan-target.ts";
import { loadFiles, makePlan, printPlanText, requireApplicable, type PlanOptionFlags } from "./plan.ts";

export interface ApplyFlags extends PlanOptionFlags, JsonFlag {
  readonly yes?: true;
}

/** Applies a plan file, or plans and applies files of topics. */
export async function applyTopics(paths: readonly string[], flags: ApplyFlags): Promise<void> {
  if (flags.yes) {
    await planAndApply(paths, flags);
    return;
  }
  const [file, ...others] = paths;
  if (file === undefined || others.length > 0)
    throw new PlanError("`apply` takes one plan; to plan and apply files of topics in one run, use --yes.");
  const plan = parsePlan(await readTextFile(file));
  await runWithTarget(flags, async (target) => {
    printWarnings(plan);
    await applyPlan(plan, target, flags);
  });
}

/** Those that were found when the plan was made. */
function printWarnings({ changes }: TopicPlan): void {
  for (const { externalId, warnings } of changes)
    for (const { filter, message } of warnings)
      printError(sanitize(`warning: ${externalId}: ${filter}: ${message}`));
}

async function planAndApply(paths: readonly string[], flags: ApplyFlags): Promise<void> {
  const files = await loadFiles(paths, flags);
  if (files === undefined) return;
  await runWithTarget(flags, async (target) => {
    const result = await makePlan(files, target, flags);
    if (!flags.json) await printPlanText(result);
    if (!requireApplicable(result, flags)) return;
    await applyPlan(result.plan, target, flags);
  });
}

/** Enough to identify a plan among those of a set. */
const planIdLength = 16;

/** Applies a plan batch by batch, and stops at the first one that cannot be applied. */
export async function applyPlan(
  { database, set, origin, revision, changes, sha256 }: TopicPlan,
  { source, client }: PlanTarget,
  { json }: JsonFlag,
): Promise<void> {
  const batches = toBatches(changes);
  if (source.databaseId !== database) throw createDatabaseError();
  const head = {
    ...{ database, set, plan: sha256.slice(0, planIdLength), total: changes.length },
    ...(origin !== undefined && { origin }),
    ...(revision !== undefined && { revision }),
  };
  let [applied, done] = [0, 0];
  try {
    for (const batch of batches) {
      if (client.abort.aborted) throw new UnavailableError("stopped");
      applied += await applyBatch(client, { ...head, changes: batch });
      done += batch.length;
    }
  } catch (error) {
    if (done > 0)
      printError(
        `${done} of ${formatCount(changes.length, "change")} are stored; repeat the command to continue`,
      );
    if (!(error instanceof PlanError)) throw error;
    for (const line of error.message.split("\n")) printError(sanitize(line));
    process.exitCode = exitCodes.rejected;
    return;
  }
  const result = { set, plan: head.plan, applied, unchanged: changes.length - applied };
  if (json) printJson(result);
  else printLine(`set ${set}: ${formatCount(applied, "change")} applied, ${result.unchanged} made already`);
}
