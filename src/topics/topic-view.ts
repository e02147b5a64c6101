import {
  FilterSyntaxError,
  type FilterMember,
  parseFilter,
  PatternBudget,
  describeFilter,
} from "@topicsync/filters";
import type { TopicDetailsView } from "../../schemas/topics/details.ts";
import type { TopicDetail, TopicView } from "../../schemas/topics/view.ts";
import { describedMembers, type DescriptionView, type VersionView } from "../../schemas/topics/versions.ts";
import type { Description, HistoryEntry, TopicVersion } from "./history.ts";
import {
  noDetails,
  pickDetails,
  showVersion,
  type ShownDetails,
  type StoredDetails,
} from "./details/details.ts";
import { toDefinition, type ListedTopic, type TopicDefinition } from "./topic.ts";

/** Converts a topic to what lists show, over HTTP and on the command line alike. */
export function toTopicView({ topic, retired, details, lastEventOn, events }: ListedTopic): TopicView {
  const { id, previous } = topic;
  return {
    ...toDefinition(topic),
    id,
    version: topic.version,
    state: toState(retired),
    source: topic.source,
    createdOn: topic.createdOn.toISOString(),
    updatedOn: topic.updatedOn.toISOString(),
    ...(lastEventOn && { lastEventOn: lastEventOn.toISOString() }),
    ...(events !== undefined && { events }),
    ...(retired && {
      retiredOn: retired.retiredOn.toISOString(),
      retiredBy: retired.retiredBy,
    }),
    ...(previous && {
      previous: { ...previous, updatedOn: previous.updatedOn.toISOString() },
    }),
    ...(details && { details: toDetailsView(details) }),
  };
}

/** Converts a topic to everything about it, with the meaning of its filters. */
export const toTopicDetail = (listed: ListedTopic, replaced?: TopicDetail["replaced"]): TopicDetail => ({
  ...toTopicView(listed),
  ...(replaced && { replaced }),
  details: toDetailsView(listed.details ?? showVersion(0)),
  filters: describeFilters(listed.topic),
});

/** Converts a version, which may be the current one, to the topic as it was. */
export function toPastTopicDetail({ topic, ended }: TopicVersion, details?: ShownDetails): TopicDetail {
  if (ended === undefined) return toTopicDetail({ topic, details });
  const { on, by, as } = ended;
  return as === "retired" || as === "disabled"
    ? toTopicDetail({ topic, details, retired: { retiredOn: on, retiredBy: by } })
    : toTopicDetail({ topic, details }, { on: on.toISOString(), by: by, as });
}

export const toEntryView = (entry: HistoryEntry): VersionView | DescriptionView =>
  "details" in entry ? toDescriptionView(entry) : toVersionView(entry);

const toDescriptionView = ({ details, before }: Description): DescriptionView => ({
  action: "described",
  externalId: details.externalId,
  version: details.version,
  changedOn: details.changedOn.toISOString(),
  changedBy: details.changedBy,
  changes: findChanges(details, before),
});

function findChanges(details: StoredDetails, before: StoredDetails | undefined): DescriptionView["changes"] {
  if (before === undefined && details.replaces !== undefined) return null;
  const { externalId, namespace } = details;
  const [from, to] = [before ?? { ...noDetails, externalId, namespace, membership: undefined }, details].map(
    (one) => ({
      ...pickDetails(one),
      externalId: one.externalId,
      namespace: one.namespace,
      set: one.membership?.set ?? null,
      path: one.membership?.path ?? null,
    }),
  );
  return describedMembers
    .filter((member) => JSON.stringify(from?.[member]) !== JSON.stringify(to?.[member]))
    .map((member) => ({ member, from: from?.[member], to: to?.[member] }));
}

export const toVersionView = ({ topic, ended, isTransient }: TopicVersion): VersionView => ({
  ...toDefinition(topic),
  id: topic.id,
  version: topic.version,
  source: topic.source,
  validFrom: topic.updatedOn.toISOString(),
  ...(ended && {
    validTo: ended.on.toISOString(),
    endedBy: ended.by,
    endedAs: ended.as,
  }),
  transient: isTransient,
});

/** Converts details to what responses show. */
export function toDetailsView(details: ShownDetails): TopicDetailsView {
  const { membership, version, changedOn, changedBy } = details;
  const applied = membership?.applied;
  return {
    ...pickDetails(details),
    version,
    set: membership?.set ?? null,
    path: membership?.path ?? null,
    applied: applied === undefined ? null : { ...applied, on: applied.on.toISOString() },
    changedOn: changedOn?.toISOString() ?? null,
    changedBy,
  };
}

function toState(retired: ListedTopic["retired"]): TopicView["state"] {
  if (retired === undefined) return "active";
  return retired.retiredBy.kind === "http" ? "disabled" : "retired";
}

function describeFilters({ headerQuery, contentQuery }: TopicDefinition): TopicDetail["filters"] {
  const budget = PatternBudget.forTopic();
  return {
    headerQuery: describe("headerQuery", headerQuery, budget),
    contentQuery: describe("contentQuery", contentQuery, budget),
  };
}

/** Describes a filter in words. A filter that was stored before filters were validated may be invalid. */
function describe(
  member: FilterMember,
  text: string,
  budget: PatternBudget,
): TopicDetail["filters"]["headerQuery"] {
  try {
    const { conditions, notes } = describeFilter(parseFilter(text, member, budget));
    return { conditions: [...conditions], notes: [...notes], fault: null };
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    return { conditions: [], notes: [], fault: { message: error.problem, position: error.position } };
  }
}
