import {
  planChangeSchema,
  type PlanChangeView,
  type PlanStateView,
  type TopicPlanFile,
  type TopicPlanReport,
} from "../../schemas/topics/plan.ts";
import { noDetails, pickDetails, type TopicDetails } from "../topics/details/details.ts";
import { toDefinition, type TopicDefinition } from "../topics/topic.ts";

export const planActions = planChangeSchema.properties.action.enum;

export type PlannedChange = PlanChangeView;
export type PlanAction = PlannedChange["action"];

/** A topic before or after a change. One without a name belongs to the channel, which alone defines it. */
export type PlannedState = PlanStateView;

/** A plan: what `apply` does, and no more. */
export type TopicPlan = TopicPlanFile;

/** A plan, and what is not in it. */
export type PlanResult = TopicPlanReport;

/** Why a change cannot be made. */
export type Blocked = PlanResult["blocked"][number];

/** A member of the set that is not in the files. */
export type Leftover = PlanResult["orphaned"][number];

const emptyDetails = new Map(
  Object.entries(noDetails).map(([member, value]) => [member, JSON.stringify(value)]),
);

interface StateParts {
  readonly externalId: string;
  readonly definition?: TopicDefinition | undefined;
  readonly details: TopicDetails;
  readonly set?: string | null | undefined;
  readonly path?: string | null | undefined;
}

/** Details that say nothing are left out, as in files. */
export function toPlannedState({ externalId, definition, details, set, path }: StateParts): PlannedState {
  const said = Object.fromEntries(
    Object.entries(pickDetails(details)).filter(
      ([member, value]) => JSON.stringify(value) !== emptyDetails.get(member),
    ),
  );
  return { externalId, ...definition, ...said, ...(set && { set }), ...(path && { path }) };
}

export const getDefinition = (state: PlannedState | undefined): TopicDefinition | undefined =>
  state?.name === undefined ? undefined : toDefinition({ ...state, name: state.name });
