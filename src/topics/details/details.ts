import type { Fault } from "@topicsync/lib/errors";
import type { TopicDetailsBody } from "../../../schemas/topics/details.ts";

type Body = Required<TopicDetailsBody>;

/** What a team says about a topic, in its one normal form: see `toDetails`. */
export interface TopicDetails extends Readonly<Omit<Body, "consumers">> {
  readonly consumers: Required<Body["consumers"][number]>[];
}

/** Which set of definitions owns a topic. */
export interface SetMembership {
  readonly set: string;
  /** The file that defines the topic; undefined until the set is applied with it. */
  readonly path?: string | undefined;
  readonly applied?: AppliedVersion | undefined;
}

/** What the last apply stored. */
export interface AppliedVersion {
  /** The external id in the file; absent unless the topic was renamed since. */
  readonly externalId?: string;
  /** The version of the topic. */
  readonly version: number;
  /** The digest of the definition and details in the file. */
  readonly digest: string;
  /** Identifies the plan. */
  readonly plan: string;
  readonly on: Date;
}

/** The details of a topic as stored, under its external id: they outlive the topic. */
export interface StoredDetails extends TopicDetails {
  readonly externalId: string;
  /** 1 for the first, and one more with each change. */
  readonly version: number;
  /**
   * The namespace of the topic when the details were written. Another topic of this external id may be in
   * another namespace, whose readers may not see them.
   */
  readonly namespace: string;
  /** See `toDetailsWords`. */
  readonly words: readonly string[];
  readonly membership: SetMembership | undefined;
  /** When what teams see of them was changed last. */
  readonly changedOn: Date;
  /** The name of the user who did it. */
  readonly changedBy: string;
  /** What they replaced then; see `getDetailsId`. */
  readonly replaces?: string;
}

/** Details that others have replaced. */
export interface ReplacedDetails {
  readonly details: StoredDetails;
  /** The sys_id of the topic; undefined if there was none. */
  readonly topicId: string | undefined;
  readonly endedOn: Date;
}

/** The details of a topic, as far as their reader may see them. */
export interface ShownDetails extends TopicDetails {
  /** 0 for a topic that was never described. */
  readonly version: number;
  readonly membership: SetMembership | undefined;
  /** Undefined for a topic without details, and for hidden ones. */
  readonly changedOn: Date | undefined;
  readonly changedBy: string;
}

export const noDetails: TopicDetails = {
  owner: "",
  description: "",
  contact: "",
  tags: [],
  labels: {},
  lifecycle: "active",
  sunset: null,
  replacedBy: "",
  consumers: [],
  protected: false,
};

/** Shows of details only which version they have, to readers who may not see the namespace they come from. */
export const showVersion = (version: number): ShownDetails => ({
  ...noDetails,
  version,
  membership: undefined,
  changedOn: undefined,
  changedBy: "",
});

/**
 * The normal form of details: absent members have their defaults, tags and labels are sorted, and members of
 * other things are left out.
 */
export function toDetails(body: TopicDetailsBody): TopicDetails {
  const { tags = [], labels = {}, consumers = [], ...others } = body;
  return pickDetails({
    ...noDetails,
    ...others,
    tags: [...new Set(tags)].toSorted(),
    labels: Object.fromEntries(Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    consumers: consumers.map(({ name, contact = "" }) => ({ name, contact })),
  });
}

export const detailsMembers = Object.keys(noDetails) as (keyof TopicDetails)[];

/** What a team says, without what else is known about it. */
export const pickDetails = (details: TopicDetails): TopicDetails =>
  Object.fromEntries(detailsMembers.map((member) => [member, details[member]])) as unknown as TopicDetails;

/** The members of details in one order, to compare or digest them. */
export const formatDetails = (details: TopicDetails): string =>
  JSON.stringify(detailsMembers.map((member) => details[member]));

/** The faults that the schema does not find. Whether `replacedBy` exists is not checked here. */
export function findDetailsFaults(externalId: string, { consumers, replacedBy }: TopicDetails): Fault[] {
  const faults: Fault[] = [];
  if (replacedBy === externalId) faults.push({ path: "/replacedBy", message: "must be another topic" });
  const names = new Set<string>();
  for (const [i, { name }] of consumers.entries()) {
    if (names.has(name))
      faults.push({ path: `/consumers/${i}/name`, message: `is the name of another consumer: "${name}"` });
    names.add(name);
  }
  return faults;
}

const maxWords = 200;
const maxWordCharacters = 40;

/**
 * The words of a text, each once: sequences of letters and digits in lower case, cut to 40 characters. Forms
 * that look the same, such as full-width letters, are one word (Unicode NFKC).
 */
export function toWords(text: string): string[] {
  const words = text
    .normalize("NFKC")
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "");
  return [...new Set(words.map((word) => Array.from(word).slice(0, maxWordCharacters).join("")))];
}

/** The words that a topic is found by, the first 200; its description comes last. */
export const toDetailsWords = (
  { name, externalId }: Pick<DescribedTopic, "name" | "externalId">,
  { owner, tags, description }: TopicDetails,
): string[] => toWords([name, externalId, owner, ...tags, description].join(" ")).slice(0, maxWords);

/** What details take from the definition of their topic. */
interface DescribedTopic {
  readonly externalId: string;
  readonly name: string;
  readonly namespace: string;
}

interface DetailsChange {
  readonly topic: DescribedTopic;
  /** What the topic had under another external id, if it is renamed. */
  readonly moved?: StoredDetails | undefined;
  readonly details: TopicDetails;
  /** The one of before unless given; null ends it. */
  readonly membership?: SetMembership | null;
  readonly by: string;
  readonly at: Date;
}

interface DetailsRename {
  readonly from: DescribedTopic;
  readonly to: DescribedTopic;
  readonly by: string;
  readonly at: Date;
}

/**
 * The details of a topic that got another external id, under which others may be stored. Those that are
 * hidden from its readers stay hidden.
 */
export const toRenamedDetails = (
  moved: StoredDetails,
  left: StoredDetails | undefined,
  { from, to, by, at }: DetailsRename,
): StoredDetails => {
  const { namespace, membership } = moved;
  const next = toNextDetails(left, {
    topic: { ...to, namespace: namespace === from.namespace ? to.namespace : namespace },
    ...{ details: moved, moved, by, at },
    membership: (membership && toRenamedMembership(membership, from.externalId, to.externalId)) ?? null,
  });
  return { ...next, version: Math.max(next.version, moved.version + 1) };
};

function toRenamedMembership(membership: SetMembership, from: string, to: string): SetMembership {
  if (membership.applied === undefined) return membership;
  const { externalId = from, ...applied } = membership.applied;
  return { ...membership, applied: externalId === to ? applied : { ...applied, externalId } };
}

/** The next version of a topic's details. Times of one topic always increase. */
export function toNextDetails(
  current: StoredDetails | undefined,
  { topic, moved, details, membership = current?.membership, by, at }: DetailsChange,
): StoredDetails {
  const next = {
    ...details,
    externalId: topic.externalId,
    version: (current?.version ?? 0) + 1,
    namespace: topic.namespace,
    words: toDetailsWords(topic, details),
    membership: membership ?? undefined,
  };
  const replaced = moved ?? current;
  if (replaced !== undefined && isSameDescription(replaced, next)) {
    const { changedOn, changedBy, replaces } = replaced;
    return { ...next, changedOn, changedBy, ...(replaces !== undefined && { replaces }) };
  }
  const last = Math.max(current?.changedOn.getTime() ?? 0, moved?.changedOn.getTime() ?? 0);
  return {
    ...next,
    changedOn: new Date(Math.max(at.getTime(), last + 1)),
    changedBy: by,
    ...(replaced && { replaces: getDetailsId(replaced) }),
  };
}

/** Identifies details among all that an external id ever had: their numbers begin again after a removal. */
export const getDetailsId = ({ externalId, changedOn }: StoredDetails): string =>
  `${externalId}-${changedOn.getTime()}`;

/** Whether teams see the same, so that the history of a topic gets no entry. */
const isSameDescription = (one: DescribedDetails, other: DescribedDetails): boolean =>
  one.externalId === other.externalId &&
  one.namespace === other.namespace &&
  formatDetails(one) === formatDetails(other) &&
  one.membership?.set === other.membership?.set &&
  one.membership?.path === other.membership?.path;

type DescribedDetails = Pick<StoredDetails, keyof TopicDetails | "externalId" | "namespace" | "membership">;

/** The details that others replace: none if there were none, or if teams see the same. */
export const toReplacedDetails = (
  current: StoredDetails | undefined,
  next: StoredDetails,
  topicId: string | undefined,
): readonly ReplacedDetails[] =>
  current === undefined || getDetailsId(current) === getDetailsId(next)
    ? []
    : [{ details: current, topicId, endedOn: next.changedOn }];
