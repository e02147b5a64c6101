import { topicUsageSchema } from "../../schemas/topics/usage.ts";
import { findUsage, toUsageView } from "../topics/usage.ts";
import { operation, type Operation } from "./framework/operation.ts";
import { findVisibleTopic, readingTopics } from "./topic-rules.ts";

export const getTopicUsage = operation({
  ...readingTopics,
  id: "getTopicUsage",
  method: "GET",
  paths: ["/api/topicsync/v1/topics/{id}/usage"],
  summary: "Get the usage of a topic",
  description:
    "The number of events that matched it, and the time of the last one, counted by the router. What an instance has counted in the last ten minutes is not included, and is lost if the instance is killed; a batch of events that is repeated can be counted twice.",
  parameters: { id: "External id of the topic, or its sys_id." },
  replies: { 200: { description: "The usage.", schema: topicUsageSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { id = "" }, namespaces }, { topicReader, topicUsage }) {
    const { topic } = await findVisibleTopic(topicReader, id, namespaces);
    const [usage, counting] = await Promise.all([findUsage(topicUsage, [topic]), topicUsage.findCounting()]);
    return { status: 200, json: toUsageView(topic.externalId, usage.get(topic.externalId), counting) };
  },
});

/** Shows how many events topics had. */
export const topicUsageOperations: readonly Operation[] = [getTopicUsage];
