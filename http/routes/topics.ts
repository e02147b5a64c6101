import {
  topicBodySchema,
  topicResponseSchema,
  type TopicBody,
  type TopicResponse,
} from "../../schemas/topic.ts";
import type { TopicService } from "../../src/topics/service.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { operation, versioned, type Operation } from "../framework/operation.ts";

const checkTopic = createValidator<TopicBody>(topicBodySchema);

/** `POST …/topic` (specification 4.3), under the neutral path segment and under the original one. */
export const topicOperations = (topics: TopicService): readonly Operation[] => [
  operation<TopicBody>({
    id: "createTopic",
    method: "POST",
    paths: [
      ...versioned("/api/svc_api_notif_mgmt", "/topic"),
      ...versioned("/api/sn_api_notif_mgmt", "/topic"),
    ],
    access: roles.eventManagement,
    tag: "topics",
    summary: "Create a topic",
    description: "Creates an event topic with the filters that select its events.",
    body: { schema: topicBodySchema, check: checkTopic, wrongTypeStatus: 415 },
    replies: { 201: { description: "The topic is created.", schema: topicResponseSchema } },
    refusals: ["BAD_FILTER", "DUPLICATE_EXTERNAL_ID", "DUPLICATE_COMBINATION"],
    async handle({ body, user }) {
      const { topic, event } = await topics.create(body, user.name);
      const { contentQuery, externalId, headerQuery, id, name, namespace } = topic;
      const json: TopicResponse = { contentQuery, externalId, headerQuery, id, name, namespace };
      return { status: 201, json, audit: event };
    },
  }),
];
