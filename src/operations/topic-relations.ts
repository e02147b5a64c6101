import { RejectionError } from "@topicsync/lib/errors";
import { FilterSyntaxError } from "@topicsync/filters";
import { topicRelationsSchema, type TopicRelationsView } from "../../schemas/topics/relations.ts";
import type { PickableTopic } from "../topics/live/feed.ts";
import { findContaining } from "../topics/containing.ts";
import { maxListedTopics } from "../topics/finding.ts";
import { operation, type Operation } from "./framework/operation.ts";
import { findVisibleTopic, readingTopics } from "./topic-rules.ts";

const toList = (topics: readonly PickableTopic[]): TopicRelationsView["same"] => ({
  total: topics.length,
  topics: topics
    .slice(0, maxListedTopics)
    .map(({ id, externalId, name, namespace }) => ({ id, externalId, name, namespace })),
});

/** Compares the filters of topics. */
export const topicRelationOperations: readonly Operation[] = [
  operation({
    ...readingTopics,
    id: "getTopicRelations",
    method: "GET",
    paths: ["/api/topicsync/v1/topics/{id}/relations"],
    summary: "Compare a topic with others",
    description:
      "The active topics that have the same events, or all of its events and others, as far as that follows from the filters. `topicsync topics analyze ID` also lists topics that are contained in it.",
    parameters: { id: "External id of the topic, or its sys_id." },
    replies: { 200: { description: "The related topics.", schema: topicRelationsSchema } },
    rejections: ["NOT_FOUND", "BAD_FILTER"],
    async handle({ parameters: { id = "" }, namespaces }, { topicReader, topicIndex }) {
      const { topic } = await findVisibleTopic(topicReader, id, namespaces);
      const { impossible, same, containing, isComplete } = await findContaining(
        topicIndex,
        topic,
        namespaces,
      ).catch((error: unknown) => {
        if (!(error instanceof FilterSyntaxError)) throw error;
        throw new RejectionError("BAD_FILTER", `No event belongs to the topic: ${error.message}`, []);
      });
      const json: TopicRelationsView = {
        ...{ externalId: topic.externalId, impossible: [...impossible], complete: isComplete },
        ...{ same: toList(same), containing: toList(containing) },
      };
      return { status: 200, json };
    },
  }),
];
