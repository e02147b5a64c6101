import { writeFile } from "node:fs/promises";

import { exitCodes, getErrorMessage } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import type { ImpactResult } from "../../../../schemas/impact.ts";
import { createPlan, type MaxDeletes } from "../../../plans/create-plan.ts";
import { formatPlace, type DesiredSet } from "../../../plans/desired.ts";
import { getDefinition, type PlanResult } from "../../../plans/plan.ts";
import { getCommandLineUser } from "../../context.ts";
import type { JsonFlag } from "../../input/options.ts";
import { findRepository, type Repository } from "../../input/repository.ts";
import { loadTopicFiles } from "../../input/topic-files/load.ts";
import { openOutput, printError, printJson, printLine, sanitize } from "../../output/output.ts";
import { formatMarkdown, formatPlan } from "../../output/plan-text.ts";
import { runWithTarget, type PlanTarget } from "./plan-target.ts";

/** The options that `plan` and `apply` share. */
export interface PlanOptionFlags {
  readonly set?: string;
  readonly prune?: true;
  readonly maxDeletes?: MaxDeletes;
  readonly allowEmpty?: true;
  readonly adopt?: true;
  readonly takeOver?: string;
  readonly skipBlocked?: true;
  readonly strict?: true;
  readonly origin?: string;
  readonly server?: string;
}

export interface PlanFlags extends PlanOptionFlags, JsonFlag {
  readonly out?: string;
  /** True: the usual number of events. */
  readonly impact?: true | number;
  readonly format: "text" | "markdown";
  readonly failOnChanges?: true;
}

/** Prints a plan, and writes it to a file if it can be applied. */
export async function planTopics(paths: readonly string[], flags: PlanFlags): Promise<void> {
  const files = await loadFiles(paths, flags);
  if (files === undefined) return;
  await runWithTarget(flags, async (target) => {
    const result = await makePlan(files, target, flags);
    await printPlan(result, flags, await previewPlan(result, target, flags));
    if (!requireApplicable(result, flags)) return;
    if (flags.out !== undefined) await writePlan(flags.out, result);
    if (flags.failOnChanges && result.plan.changes.length > 0) process.exitCode = exitCodes.changes;
  });
}

export interface LoadedFiles {
  readonly desired: DesiredSet;
  readonly repository: Repository;
}

const maxFaultsShown = 100;

/** Reads files. Prints their faults and returns undefined if there are any. */
export async function loadFiles(
  paths: readonly string[],
  { set }: PlanOptionFlags,
): Promise<LoadedFiles | undefined> {
  const repository = await findRepository();
  const desired = await loadTopicFiles(paths, { root: repository.root, set });
  if (!("faults" in desired)) return { desired, repository };
  const { faults } = desired;
  for (const { place, message } of faults.slice(0, maxFaultsShown))
    printError(sanitize(`${formatPlace(place)}: ${message}`));
  if (faults.length > maxFaultsShown) printError(`and ${faults.length - maxFaultsShown} more`);
  printError("Nothing was planned.");
  process.exitCode = exitCodes.rejected;
  return undefined;
}

/** Computes a plan, for `plan` and `apply` alike. */
export const makePlan = (
  { desired, repository }: LoadedFiles,
  { source, egressNaming }: PlanTarget,
  flags: PlanOptionFlags,
): Promise<PlanResult> =>
  createPlan(desired, source, {
    ...flags,
    origin: flags.origin ?? repository.origin,
    revision: repository.revision,
    user: getCommandLineUser(),
    now: currentDate(),
    egressNaming,
  });

/** Whether a plan may be applied. Prints why not, and sets the exit code. */
export function requireApplicable(
  { blocked, plan }: PlanResult,
  { skipBlocked, strict }: PlanOptionFlags,
): boolean {
  const warnings = plan.changes.reduce((sum, one) => sum + one.warnings.length, 0);
  const reasons = [
    ...(blocked.length > 0 && !skipBlocked ? ["Changes are blocked; --skip-blocked leaves them out."] : []),
    ...(warnings > 0 && strict ? ["There are warnings, and --strict was given."] : []),
  ];
  for (const reason of reasons) printError(reason);
  if (reasons.length > 0) process.exitCode = exitCodes.rejected;
  return reasons.length === 0;
}

/** Compares old and new filters on events, if that is wanted. */
async function previewPlan(
  { plan }: PlanResult,
  target: PlanTarget,
  { impact }: PlanFlags,
): Promise<ImpactResult | undefined> {
  if (impact === undefined) return undefined;
  const changed = plan.changes.filter(
    ({ before, after }) =>
      before?.headerQuery !== after?.headerQuery || before?.contentQuery !== after?.contentQuery,
  );
  if (changed.length === 0) return undefined;
  // Only some plans need what it loads.
  const { previewChanges } = await import("./impact-preview.ts");
  const proposed = changed.map(({ externalId: storedAs, before, after }) => ({
    externalId: after?.externalId ?? storedAs,
    storedAs,
    namespace: after?.namespace,
    before: getDefinition(before),
    after: getDefinition(after),
  }));
  return previewChanges(target, proposed, { examples: 3, ...(impact !== true && { last: impact }) });
}

async function printPlan(
  result: PlanResult,
  { json, format }: PlanFlags,
  impact: ImpactResult | undefined,
): Promise<void> {
  if (json) {
    printJson({ ...result, ...(impact && { impact }) });
    return;
  }
  const lines: string[] = [];
  if (impact !== undefined) {
    const { printImpact } = await import("../../output/impact-view.ts");
    await printImpact({ write: (text) => Promise.resolve(lines.push(String(text)) > 0) }, impact);
  }
  if (format === "markdown") printLine(formatMarkdown(result, lines.join("")));
  else {
    await printPlanText(result);
    if (impact !== undefined) printLine(`\n${lines.join("").trimEnd()}`);
  }
}

export async function printPlanText(result: PlanResult): Promise<void> {
  const output = openOutput();
  for (const line of formatPlan(result)) if (!(await output.write(`${line}\n`))) return;
}

async function writePlan(file: string, { plan }: PlanResult): Promise<void> {
  try {
    await writeFile(file, `${JSON.stringify(plan, undefined, 2)}\n`);
  } catch (error) {
    throw new Error(`cannot write ${file}: ${getErrorMessage(error)}`, { cause: error });
  }
  printError(`wrote the plan to ${file}`);
}
