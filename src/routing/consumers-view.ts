import type { TopicConsumersView } from "../../schemas/topic-consumers.ts";
import type { ConsumerGroup, Observation } from "./consumers.ts";
import { toEgressView, type EgressNaming, type NamedTopic } from "../kafka/interface/egress-naming.ts";

interface ViewOptions {
  /** Undefined: no router is configured. */
  readonly naming: EgressNaming | undefined;
  readonly observation: Observation;
  /** Whether clients, their hosts and the texts of errors are shown. */
  readonly showsDetails: boolean;
}

const maxMembers = 100;

/** Converts what was observed to the consumers of a topic, for HTTP and the command line. */
export function toConsumersView(topic: NamedTopic, options: ViewOptions): TopicConsumersView {
  const { naming, observation, showsDetails } = options;
  const { egressTopic, egressFault } = toEgressView(naming, topic);
  const groups = egressTopic === undefined ? [] : observation.getGroups(egressTopic);
  return {
    externalId: topic.externalId,
    egressTopic: egressTopic ?? null,
    sharedBy: naming?.scope ?? null,
    observed: {
      asOf: observation.asOf?.toISOString() ?? null,
      reading: observation.isReading,
      groups: groups
        .map((one) => toGroupView(one, egressTopic ?? "", showsDetails))
        .toSorted((a, b) => (a.group < b.group ? -1 : 1)),
      problems: showsDetails ? [...observation.problems] : [],
    },
    notes: listNotes(options, egressFault),
  };
}

type GroupView = TopicConsumersView["observed"]["groups"][number];

export const toGroupView = (
  { group, type, state, members, lags }: ConsumerGroup,
  egressTopic: string,
  showsDetails: boolean,
): GroupView => ({
  ...{ group, protocol: type, state },
  lag: lags.get(egressTopic) ?? null,
  memberCount: members?.length ?? null,
  members: (showsDetails && members?.slice(0, maxMembers)) || null,
});

/** What consumers as observed do not prove (E1). */
export const observationLimit =
  "Observed consumers are those that had committed offsets at the stated time. That a topic has none does not prove that nobody reads it.";

const sharingNotes = {
  topic: [],
  namespace: ["The egress topic has the events of all topics of the namespace, which other groups may want."],
  all: ["The egress topic has the events of all topics. Groups may read it for other topics only."],
} as const;

function listNotes({ naming, observation }: ViewOptions, fault: string | undefined): string[] {
  if (naming === undefined) return ["No router is configured, so no events are forwarded."];
  if (fault !== undefined) return [`No events can be forwarded: ${fault}.`];
  const isFirst = observation.asOf === undefined && observation.isReading;
  return [
    ...(isFirst ? ["The consumer groups are being read for the first time. Ask again in a moment."] : []),
    observationLimit,
    ...sharingNotes[naming.scope],
  ];
}
