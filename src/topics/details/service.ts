import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { RejectionError } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import { toTopicEvent } from "../audit.ts";
import {
  findDetailsFaults,
  formatDetails,
  toNextDetails,
  toReplacedDetails,
  type StoredDetails,
  type TopicDetails,
} from "./details.ts";
import { DetailsConflictError, type TopicDetailsStore } from "./store.ts";
import { UnknownTopicError } from "../definition-change.ts";
import type { TopicReader } from "../listing.ts";
import type { ListedTopic, Topic } from "../topic.ts";

interface DetailsChange {
  readonly externalId: string;
  readonly details: TopicDetails;
  /** The version that the caller has read: 0 for a topic that was never described, undefined for any. */
  readonly version: number | undefined;
  readonly user: string;
  /** Whether the caller may know about a namespace. */
  readonly canSee: (namespace: string) => boolean;
  /** Throws if the caller may not change the topic that was found. */
  readonly check: (topic: Topic) => void;
}

interface Described {
  readonly listed: ListedTopic;
  /** Undefined when the topic already had these details. */
  readonly event: AuditEvent | undefined;
}

interface Sources {
  readonly topicReader: Pick<TopicReader, "find">;
  readonly topicDetails: TopicDetailsStore;
}

/**
 * Replaces the details of a topic, which need not be active. Throws UnknownTopicError, DetailsConflictError
 * unless the stored version is the given one, a RejectionError with every fault, and UnavailableError.
 */
export async function replaceDetails(
  { topicReader, topicDetails }: Sources,
  change: DetailsChange,
  now = currentDate,
): Promise<Described> {
  const { externalId, details, version, user, canSee, check } = change;
  const faults = findDetailsFaults(externalId, details);
  if (faults.length > 0) throw createDetailsRejection(externalId, faults);
  const listed = await topicReader.find(externalId);
  if (listed === undefined)
    throw new UnknownTopicError(`there is no topic with the external id "${externalId}"`);
  check(listed.topic);
  const [current] = await topicDetails.find([externalId]);
  const isVisible = current !== undefined && canSee(current.namespace);
  const next = toNextDetails(current, { topic: listed.topic, details, by: user, at: now() });
  // Also when a client repeats a request whose response was lost.
  if (isVisible && isSame(current, next))
    return { listed: { ...listed, details: current }, event: undefined };
  if (version !== undefined && version !== (current?.version ?? 0)) throw new DetailsConflictError();
  // One that is gone since then does not prevent other changes.
  const isKnown = isVisible && details.replacedBy === current.replacedBy;
  if (details.replacedBy !== "" && !isKnown) await requireSuccessor(topicReader, change);
  await topicDetails.replace(next, toReplacedDetails(current, next, listed.topic.id));
  return { listed: { ...listed, details: next }, event: toTopicEvent("described", listed.topic) };
}

/** Throws a RejectionError unless the successor is an active topic that the caller may know about. */
async function requireSuccessor(
  topicReader: Sources["topicReader"],
  { externalId, details: { replacedBy }, canSee }: DetailsChange,
): Promise<void> {
  const found = await topicReader.find(replacedBy);
  if (found !== undefined && found.retired === undefined && canSee(found.topic.namespace)) return;
  throw createDetailsRejection(externalId, [
    { path: "/replacedBy", message: `is not the external id of an active topic: "${replacedBy}"` },
  ]);
}

const isSame = (one: StoredDetails, other: StoredDetails): boolean =>
  formatDetails(one) === formatDetails(other) &&
  one.namespace === other.namespace &&
  one.words.join(" ") === other.words.join(" ");

const createDetailsRejection = (externalId: string, faults: RejectionError["details"]): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", `The details of "${externalId}" are not valid.`, faults);
