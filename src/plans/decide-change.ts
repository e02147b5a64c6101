import { formatRecordPosition } from "@topicsync/kafka";
import { formatDetails, noDetails, pickDetails } from "../topics/details/details.ts";
import { isSameDefinition } from "../topics/topic.ts";
import { digestDefinition, type DesiredTopic } from "./desired.ts";
import type { Blocked, BlockedCode, Expectation, PlanAction, PlannedChange, PlannedState } from "./plan.ts";
import type { KnownTopic } from "./stores.ts";

export interface OwnershipOptions {
  readonly set: string;
  /** Topics that belong to no set may be adopted. */
  readonly adopt: boolean;
  /** Topics of this set may be adopted. */
  readonly takeOver: string | undefined;
}

/**
 * Decides what to do with a topic in the files: nothing if it is as stored. `known` is what is stored under
 * its external id, or under the one that it had before; `left` is what it would then replace.
 */
export function decideChange(
  desired: DesiredTopic,
  known: KnownTopic | undefined,
  options: OwnershipOptions,
  left?: KnownTopic,
): PlannedChange | Blocked | undefined {
  const { topic, details } = known ?? {};
  const block = findOwner(desired, left, options) ?? findBlock(desired, known, options);
  if (block !== undefined) return block;
  const after: PlannedState = { ...toState(desired), set: options.set };
  if (known === undefined || (topic === undefined && desired.definition !== undefined))
    return createChange("create", known ?? { externalId: desired.externalId, topic, details }, after);
  const before = toKnownState(known, desired.definition !== undefined);
  const hasSameDetails =
    formatDetails(before.details) === formatDetails(after.details) && before.path === after.path;
  const isRenamed = desired.externalId !== known.externalId;
  const isChanged = !hasSameDefinition(before, after);
  if (details?.membership?.set !== options.set) return createChange("adopt", known, after, before);
  if (isRenamed) return createChange("rename", known, after, before);
  if (isChanged) return createChange("change", known, after, before);
  return hasSameDetails ? undefined : createChange("describe", known, after, before);
}

/** The change that disables a topic that is no longer wanted, or releases one of the channel. */
export function decideRemoval(known: KnownTopic): PlannedChange | Blocked {
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
  known: KnownTopic,
  options: OwnershipOptions,
): PlannedChange | Blocked | undefined {
  const { externalId, topic, details } = known;
  const { set } = options;
  if (topic === undefined) return { externalId, code: "UNKNOWN_TOPIC", message: "does not exist" };
  if (details?.membership?.set === set) return undefined;
  const block = findOwner(known, known, options);
  if (block !== undefined) return block;
  const before = toKnownState(known, true);
  return createChange("adopt", known, { ...before, set }, before);
}

/** The change that ends the membership of a topic in its set. */
export const decideRelease = (known: KnownTopic): PlannedChange =>
  createChange("release", known, undefined, toKnownState(known, true));

/** The block if a topic, or what it left, belongs to another set. */
function findOwner(
  { externalId }: Pick<DesiredTopic, "externalId">,
  known: KnownTopic | undefined,
  { set, takeOver }: OwnershipOptions,
): Blocked | undefined {
  const owner = known?.details?.membership?.set;
  if (owner === undefined || owner === set || owner === takeOver) return undefined;
  const message = `belongs to the set "${owner}"; with --take-over ${owner} it is adopted`;
  return { externalId, code: "OWNED_BY_SET", message };
}

function findBlock(
  desired: DesiredTopic,
  known: KnownTopic | undefined,
  options: OwnershipOptions,
): Blocked | undefined {
  const { externalId, definition } = desired;
  const block = (code: BlockedCode, message: string): Blocked => ({ externalId, code, message });
  const { topic, details } = known ?? {};
  const owner = details?.membership?.set;
  const owned = findOwner(desired, known, options);
  if (owned !== undefined) return owned;
  if (topic === undefined) {
    if (definition !== undefined || owner === options.set) return undefined;
    return block("UNKNOWN_TOPIC", "does not exist; to create it, add its `name` and filters");
  }
  if (topic.source.kind === "announcement") {
    const isSame =
      definition === undefined ? topic.externalId === externalId : isSameDefinition(topic, definition);
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

const hasSameDefinition = (
  { definition: before }: PlannedState,
  { definition: after }: PlannedState,
): boolean =>
  after === undefined ||
  (before !== undefined && isSameDefinition(before, { ...after, externalId: before.externalId }));

const createChange = (
  action: PlanAction,
  { externalId, topic, details }: KnownTopic,
  after: PlannedState | undefined,
  before?: PlannedState,
): PlannedChange => ({
  action,
  externalId,
  expects: topic === undefined ? null : toExpectation(topic),
  detailsVersion: details?.version ?? 0,
  before,
  after,
  warnings: [],
  notes: [],
});

const toExpectation = (topic: NonNullable<KnownTopic["topic"]>): Expectation => ({
  id: topic.id,
  version: topic.version,
  digest: digestDefinition(topic),
});

const toState = ({ externalId, definition, details, path }: DesiredTopic): PlannedState => ({
  externalId,
  definition,
  details,
  path,
});

/** What a plan shows and compares of a topic as it is stored. */
function toKnownState({ externalId, topic, details }: KnownTopic, withDefinition: boolean): PlannedState {
  return {
    externalId,
    definition: withDefinition && topic !== undefined ? pickDefinition(topic) : undefined,
    details: pickDetails(details ?? noDetails),
    set: details?.membership?.set,
    path: details?.membership?.path,
  };
}

const pickDefinition = ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
}: NonNullable<KnownTopic["topic"]>): PlannedState["definition"] => ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
});
