import { hash } from "node:crypto";

import { formatFaults, PlanError } from "@topicsync/lib/errors";
import { createValidator } from "@topicsync/lib/validation";
import { planFormat, topicPlanSchema } from "../../schemas/topics/plan.ts";
import type { TopicPlan } from "./plan.ts";

const checkPlan = createValidator<TopicPlan>(topicPlanSchema);

/** Adds the format, and the digest of all other members. */
export function toPlanFile(plan: Omit<TopicPlan, "format" | "sha256">): TopicPlan {
  const file = { format: planFormat, ...plan } as const;
  return { ...file, sha256: digestFile(file) };
}

const digestFile = (file: Omit<TopicPlan, "sha256">): string => hash("sha256", JSON.stringify(file), "hex");

/** Reads a plan. Throws a PlanError if it is not one, or was changed since it was written. */
export function parsePlan(text: string): TopicPlan {
  const plan = requirePlan(text);
  const { sha256, ...file } = plan;
  if (digestFile(file) !== sha256)
    throw new PlanError("The plan was changed since it was written. Plan again.");
  return plan;
}

function requirePlan(text: string): TopicPlan {
  const value = parseObject(text);
  if (value?.["format"] !== planFormat)
    throw new PlanError(`This is not a plan of the format ${planFormat}. Plan again with this version.`);
  const checked = checkPlan(value);
  if (checked.ok) return checked.value;
  throw new PlanError(`The plan is damaged: ${formatFaults(checked.faults, "it")} Plan again.`);
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
