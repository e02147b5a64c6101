import { topicConsumersSchema } from "../../schemas/topic-consumers.ts";
import { unobserved, type ConsumerObserver } from "../../src/routing/consumers.ts";
import { toConsumersView } from "../../src/routing/consumers-view.ts";
import type { EgressNaming } from "../../src/kafka/interface/egress-naming.ts";
import type { TopicReader } from "../../src/topics/listing.ts";
import { hasRight } from "../../src/users/rights.ts";
import { operation, type Operation } from "../framework/operation.ts";
import { findVisibleTopic } from "./topic-rules.ts";

interface ConsumerServices {
  readonly topicReader: Pick<TopicReader, "find" | "findByAnyId">;
  /** Undefined: no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
  readonly consumerObserver: Pick<ConsumerObserver, "observe"> | undefined;
}

/** Shows who consumes the events of topics. */
export const topicConsumerOperations = (services: ConsumerServices): readonly Operation[] => [
  operation({
    id: "getTopicConsumers",
    method: "GET",
    paths: ["/api/topicsync/v1/topics/{id}/consumers"],
    access: "topics.read",
    perNamespace: true,
    tag: "topics",
    summary: "Get the consumers of a topic",
    description:
      "The consumer groups that have committed offsets in its egress topic. They are read in the background, at most once a minute: the response has the last result (`asOf`). With the right `status.read` also the clients, their hosts, and what could not be read.",
    parameters: { id: "External id of the topic, or its sys_id." },
    replies: { 200: { description: "The consumers.", schema: topicConsumersSchema } },
    rejections: ["NOT_FOUND"],
    async handle({ parameters: { id = "" }, user, namespaces }) {
      const { topicReader, egressNaming: naming, consumerObserver } = services;
      const { topic } = await findVisibleTopic(topicReader, id, namespaces);
      const observation = consumerObserver?.observe() ?? unobserved;
      const showsDetails = hasRight(user, "status.read");
      return { status: 200, json: toConsumersView(topic, { naming, observation, showsDetails }) };
    },
  }),
];
