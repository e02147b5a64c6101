import { hash } from "node:crypto";

import { formatFaults, PlanError } from "@topicsync/lib/errors";
import { createValidator } from "@topicsync/lib/validation";
import {
  planFormat,
  topicPlanSchema,
  type PlanChangeView,
  type PlanStateView,
  type TopicPlanFile,
} from "../../schemas/topics/plan.ts";
import { noDetails, pickDetails, toDetails } from "../topics/details/details.ts";
import type { PlannedChange, PlannedState, TopicPlan } from "./plan.ts";

const checkPlan = createValidator<TopicPlanFile>(topicPlanSchema);

/** Converts a plan to its file. The digest is that of all other members. */
export function toPlanFile({ changes, createdOn, origin, revision, ...plan }: TopicPlan): TopicPlanFile {
  const file = {
    format: planFormat,
    ...plan,
    ...(origin !== undefined && { origin }),
    ...(revision !== undefined && { revision }),
    createdOn: createdOn.toISOString(),
    changes: changes.map(toChangeView),
  } as const;
  return { ...file, sha256: digestFile(file) };
}

const digestFile = (file: Omit<TopicPlanFile, "sha256">): string =>
  hash("sha256", JSON.stringify(file), "hex");

/** Reads a plan. Throws a PlanError if it is not one, or was changed since it was written. */
export function parsePlan(text: string): TopicPlan & { readonly sha256: string } {
  const { sha256, ...file } = requirePlan(text);
  if (digestFile(file) !== sha256)
    throw new PlanError("The plan was changed since it was written. Plan again.");
  const { database, set, origin, revision, createdOn, createdBy, changes } = file;
  return {
    ...{ database, set, origin, revision, createdBy, sha256 },
    createdOn: new Date(createdOn),
    changes: changes.map(fromChangeView),
  };
}

function requirePlan(text: string): TopicPlanFile {
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

export const toChangeView = ({
  action,
  externalId,
  expects,
  detailsVersion,
  before,
  after,
  effect,
  warnings,
  notes,
}: PlannedChange): PlanChangeView => ({
  action,
  externalId,
  expects: expects && { ...expects },
  detailsVersion,
  ...(before && { before: toStateView(before) }),
  ...(after && { after: toStateView(after) }),
  ...(effect && { effect }),
  warnings: [...warnings],
  notes: [...notes],
});

export const fromChangeView = ({ before, after, ...change }: PlanChangeView): PlannedChange => ({
  ...change,
  before: before && fromStateView(before),
  after: after && fromStateView(after),
});

const emptyDetails = new Map(
  Object.entries(noDetails).map(([member, value]) => [member, JSON.stringify(value)]),
);

/** Converts the state of a topic to JSON, as files have it. Details that say nothing are left out. */
export function toStateView({ externalId, definition, details, set, path }: PlannedState): PlanStateView {
  const said = Object.fromEntries(
    Object.entries(pickDetails(details)).filter(
      ([member, value]) => JSON.stringify(value) !== emptyDetails.get(member),
    ),
  );
  return {
    externalId,
    ...definition,
    ...said,
    ...(set !== undefined && { set }),
    ...(path !== undefined && { path }),
  };
}

function fromStateView(state: PlanStateView): PlannedState {
  const { externalId, name, namespace, headerQuery, contentQuery, set, path, ...details } = state;
  return {
    externalId,
    ...(name !== undefined && {
      definition: {
        externalId,
        name,
        namespace: namespace ?? "",
        headerQuery: headerQuery ?? "",
        contentQuery: contentQuery ?? "",
      },
    }),
    details: toDetails(details),
    set,
    path,
  };
}
