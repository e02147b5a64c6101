import { formatRecordPosition } from "@topicsync/kafka";
import type { KnownTopicView } from "../../schemas/topics/sets.ts";
import { formatDetails, noDetails, toDetails } from "../topics/details/details.ts";
import { getCombination, toDefinition } from "../topics/topic.ts";
import { digestDefinition, type DesiredTopic } from "./desired.ts";
import {
  getDefinition,
  toPlannedState,
  type Blocked,
  type PlanAction,
  type PlannedChange,
  type PlannedState,
} from "./plan.ts";

export interface OwnershipOptions {
  readonly set: string;
  /** Topics that belong to no set may be adopted. */
  readonly adopt?: boolean | undefined;
  /** Topics of this set may be adopted. */
  readonly takeOver?: string | undefined;
}

/**
 * Decides what to do with a topic in the files: nothing if it is as stored. `known` is what is stored under
 * its external id, or under the one that it had before; `left` is what it would then replace.
 */
export function decideChange(
  desired: DesiredTopic,
  known: KnownTopicView | undefined,
  options: OwnershipOptions,
  left?: KnownTopicView,
): PlannedChange | Blocked | undefined {
  const { topic = null, details = null } = known ?? {};
  const { externalId, definition, path } = desired;
  const block =
    findOwner(externalId, left, options) ??
    findOwner(externalId, known, options) ??
    findBlock(desired, known, options);
  if (block !== undefined) return block;
  const after = toPlannedState({ ...desired, set: options.set });
  if (known === undefined || (topic === null && definition !== undefined))
    return createChange("create", { externalId, topic, details, ...known }, after);
  const before = toKnownState(known, definition !== undefined);
  if (details?.set !== options.set) return createChange("adopt", known, after, before);
  if (externalId !== known.externalId) return createChange("rename", known, after, before);
  const old = getDefinition(before);
  if (definition !== undefined && (old === undefined || getCombination(old) !== getCombination(definition)))
    return createChange("change", known, after, before);
  const hasSameDetails =
    before.path === path && formatDetails(toDetails(before)) === formatDetails(desired.details);
  return hasSameDetails ? undefined : createChange("describe", known, after, before);
}

/** The change that disables a topic that is no longer wanted, or releases one of the channel. */
export function decideRemoval(known: KnownTopicView): PlannedChange | Blocked {
  const { topic, details } = known;
  if (topic?.source.kind === "announcement") return decideRelease(known);
  if (details?.protected === true)
    return {
      externalId: known.externalId,
      code: "PROTECTED",
      message: "is protected; apply `protected: false` first, and remove it then",
    };
  return createChange("disable", known, undefined, toKnownState(known, true));
}

/** The change that makes a topic a member of a set, and no other one. */
export function decideAdoption(
  known: KnownTopicView,
  options: OwnershipOptions,
): PlannedChange | Blocked | undefined {
  const { externalId, topic, details } = known;
  const { set } = options;
  if (topic === null) return { externalId, code: "UNKNOWN_TOPIC", message: "does not exist" };
  if (details?.set === set) return undefined;
  const block = findOwner(externalId, known, options);
  if (block !== undefined) return block;
  const before = toKnownState(known, true);
  return createChange("adopt", known, { ...before, set }, before);
}

/** The change that ends the membership of a topic in its set. */
export const decideRelease = (known: KnownTopicView): PlannedChange =>
  createChange("release", known, undefined, toKnownState(known, true));

/** The block if a topic, or what it left, belongs to another set. */
function findOwner(
  externalId: string,
  known: KnownTopicView | undefined,
  { set, takeOver }: OwnershipOptions,
): Blocked | undefined {
  const owner = known?.details?.set ?? undefined;
  if (owner === undefined || owner === set || owner === takeOver) return undefined;
  const message = `belongs to the set "${owner}"; with --take-over ${owner} it is adopted`;
  return { externalId, code: "OWNED_BY_SET", message };
}

function findBlock(
  desired: DesiredTopic,
  known: KnownTopicView | undefined,
  options: OwnershipOptions,
): Blocked | undefined {
  const { externalId, definition } = desired;
  const block = (code: Blocked["code"], message: string): Blocked => ({ externalId, code, message });
  const { topic = null, details = null } = known ?? {};
  const owner = details?.set ?? undefined;
  if (known === undefined || topic === null) {
    if (definition !== undefined || owner === options.set) return undefined;
    return block("UNKNOWN_TOPIC", "does not exist; to create it, add its `name` and filters");
  }
  if (topic.source.kind === "announcement") {
    const isSame =
      known.externalId === externalId &&
      (definition === undefined || getCombination(topic) === getCombination(definition));
    if (isSame) return undefined;
    const position = formatRecordPosition(topic.source);
    return block(
      "EXTERNAL_ID_TAKEN",
      `was announced (${position}) with another definition, which only the channel can change`,
    );
  }
  if (definition === undefined)
    return block(
      "DEFINITION_MISSING",
      "was not announced, so that its `name` and filters must be in the file",
    );
  if (owner === undefined && !options.adopt)
    return block("NOT_IN_SET", "exists and belongs to no set; with --adopt it is adopted");
  return undefined;
}

const createChange = (
  action: PlanAction,
  { externalId, topic, details }: KnownTopicView,
  after: PlannedState | undefined,
  before?: PlannedState,
): PlannedChange => ({
  action,
  externalId,
  expects: topic && { id: topic.id, version: topic.version, digest: digestDefinition(topic) },
  detailsVersion: details?.version ?? 0,
  ...(before && { before }),
  ...(after && { after }),
  warnings: [],
  notes: [],
});

/** What a plan shows and compares of a topic as it is stored. */
const toKnownState = (
  { externalId, topic, details }: KnownTopicView,
  withDefinition: boolean,
): PlannedState =>
  toPlannedState({
    externalId,
    definition: withDefinition && topic !== null ? toDefinition({ ...topic, externalId }) : undefined,
    details: details === null ? noDetails : toDetails(details),
    set: details?.set,
    path: details?.path,
  });
