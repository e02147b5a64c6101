import type { KnownTopicView, TopicSetView } from "../../schemas/topics/sets.ts";
import { toDetails, type ShownDetails } from "../topics/details/details.ts";
import { toDetailsView } from "../topics/topic-view.ts";
import type { KnownTopic, TopicSet } from "./stores.ts";

/** Converts a set to what HTTP and the command line show. */
export const toSetView = ({ name, origin, createdOn, createdBy, applies }: TopicSet): TopicSetView => ({
  name,
  ...(origin !== undefined && { origin }),
  createdOn: createdOn.toISOString(),
  createdBy,
  applies: applies.map(({ plan, revision, by, startedOn, endedOn, applied, total }) => ({
    plan,
    ...(revision !== undefined && { revision }),
    by,
    startedOn: startedOn.toISOString(),
    endedOn: endedOn.toISOString(),
    applied,
    total,
  })),
});

interface ShownTopic extends Pick<KnownTopic, "externalId" | "topic"> {
  readonly details: ShownDetails | undefined;
}

/** Converts a topic to what plans over HTTP are made from. */
export const toKnownView = ({ externalId, topic, details }: ShownTopic): KnownTopicView => ({
  externalId,
  topic:
    topic === undefined
      ? null
      : {
          id: topic.id,
          version: topic.version,
          name: topic.name,
          namespace: topic.namespace,
          headerQuery: topic.headerQuery,
          contentQuery: topic.contentQuery,
          source: topic.source,
          updatedOn: topic.updatedOn.toISOString(),
        },
  details: details === undefined ? null : toDetailsView(details),
});

export function fromKnownView({ externalId, topic, details }: KnownTopicView): KnownTopic {
  return {
    externalId,
    topic: topic === null ? undefined : fromTopicView(externalId, topic),
    details: details === null ? undefined : fromDetailsView(externalId, details),
  };
}

const fromTopicView = (
  externalId: string,
  topic: NonNullable<KnownTopicView["topic"]>,
): NonNullable<KnownTopic["topic"]> => {
  const updatedOn = new Date(topic.updatedOn);
  return { ...topic, externalId, source: topic.source, updatedOn, createdOn: updatedOn };
};

function fromDetailsView(
  externalId: string,
  view: NonNullable<KnownTopicView["details"]>,
): NonNullable<KnownTopic["details"]> {
  const { version, set, path, applied, changedOn, changedBy, ...body } = view;
  const details = toDetails(body);
  return {
    ...details,
    externalId,
    version,
    namespace: "",
    words: [],
    membership:
      set === null
        ? undefined
        : {
            set,
            path: path ?? undefined,
            applied: applied === null ? undefined : { ...applied, on: new Date(applied.on) },
          },
    changedOn: new Date(changedOn ?? 0),
    changedBy,
  };
}
