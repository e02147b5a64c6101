import type { KnownTopicView } from "../../schemas/topics/sets.ts";
import type { ShownDetails } from "../topics/details/details.ts";
import { toDetailsView } from "../topics/topic-view.ts";
import type { KnownTopic } from "./stores.ts";

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
