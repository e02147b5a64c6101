import type { FilterChange } from "@topicsync/filters";
import type { FilterWarning } from "../../schemas/topics/check.ts";
import type { TopicDetails } from "../topics/details/details.ts";
import type { TopicDefinition } from "../topics/topic.ts";

/**
 * What a plan does with a topic. `adopt` puts it under the set, with the changes that the files make;
 * `release` ends the membership of an announced topic, which only the channel can retire.
 */
export const planActions = ["create", "change", "describe", "rename", "adopt", "disable", "release"] as const;
export type PlanAction = (typeof planActions)[number];

/** What a plan has seen of a topic, and an apply requires. */
export interface Expectation {
  /** The sys_id. */
  readonly id: string;
  readonly version: number;
  /** Of the definition. */
  readonly digest: string;
}

/** A topic before or after a change. */
export interface PlannedState {
  readonly externalId: string;
  /** Undefined: it is not part of the plan, since it belongs to the channel. */
  readonly definition?: TopicDefinition | undefined;
  readonly details: TopicDetails;
  readonly set?: string | undefined;
  /** The file. */
  readonly path?: string | undefined;
}

export interface PlannedChange {
  readonly action: PlanAction;
  /** Before the change, unless the topic is created. */
  readonly externalId: string;
  /** Null: no active topic has the external id. */
  readonly expects: Expectation | null;
  /** The version of the details; 0 if there are none. */
  readonly detailsVersion: number;
  readonly before?: PlannedState | undefined;
  /** Undefined: the topic is disabled or released. */
  readonly after?: PlannedState | undefined;
  /** What a changed filter does to the events of the topic. */
  readonly effect?: FilterChange | undefined;
  readonly warnings: readonly FilterWarning[];
  /** What else a reader should know. */
  readonly notes: readonly string[];
}

/** Why a plan cannot be applied. */
export interface Blocked {
  readonly externalId: string;
  readonly code: BlockedCode;
  readonly message: string;
}

export type BlockedCode =
  | "DEFINITION_MISSING"
  | "DUPLICATE_COMBINATION"
  | "EXTERNAL_ID_TAKEN"
  | "NOT_IN_SET"
  | "OWNED_BY_SET"
  | "PROTECTED"
  | "UNKNOWN_TOPIC";

/** A member of the set that is not in the files. */
export interface Leftover {
  readonly externalId: string;
  /** The file that defined it. */
  readonly path: string;
}

/** A plan: what `apply` does, and no more. */
export interface TopicPlan {
  /** Identifies the database. */
  readonly database: string;
  readonly set: string;
  readonly origin?: string | undefined;
  readonly revision?: string | undefined;
  readonly createdOn: Date;
  readonly createdBy: string;
  readonly changes: readonly PlannedChange[];
}

/** A plan, and what is not in it. */
export interface PlanResult {
  readonly plan: TopicPlan;
  readonly blocked: readonly Blocked[];
  /** Not in the files that were read: `--prune` disables them. */
  readonly orphaned: readonly Leftover[];
  /** Their files were not read. */
  readonly unread: readonly Leftover[];
  readonly unchanged: number;
  readonly files: number;
  readonly topics: number;
}
