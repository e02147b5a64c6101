import { topicDetailsBodySchema, type TopicDetailsBody } from "../../schemas/topics/details.ts";
import { topicDetailSchema } from "../../schemas/topics/view.ts";
import { toDetails } from "../topics/details/details.ts";
import { replaceDetails } from "../topics/details/service.ts";
import { toTopicDetail } from "../topics/topic-view.ts";
import { bodyRules } from "./framework/body.ts";
import { operation, type Operation } from "./framework/operation.ts";
import { requireIfMatch, toEtag } from "./framework/if-match.ts";
import {
  canSee,
  findExternalId,
  forceRules,
  hidePrevious,
  requireUnmanagedFor,
  toChangeOptions,
} from "./topic-rules.ts";

export const describeTopic = operation({
  id: "describeTopic",
  method: "PUT",
  paths: ["/api/topicsync/v1/topics/{externalId}/details"],
  access: "topics.write",
  perNamespace: true,
  ifMatch: "required",
  tag: "topics",
  summary: "Describe a topic",
  description:
    "Replaces the details of a topic, active or not: owner, tags, lifecycle and so on. `If-Match` has the `version` of its current details, or `0` if it has none. The definition of the topic does not change.",
  parameters: { externalId: "External id of the topic, or its sys_id." },
  body: bodyRules<TopicDetailsBody>(topicDetailsBodySchema),
  replies: {
    200: { description: "The topic with its new details.", schema: topicDetailSchema, hasEtag: true },
  },
  query: forceRules,
  rejections: ["NOT_FOUND", "MANAGED_BY_SET"],
  async handle(call, services) {
    const externalId = await findExternalId(call, services);
    const mark = await requireUnmanagedFor(call, services.topicDetails, [externalId]);
    const { listed, event } = await replaceDetails(services, {
      ...{ externalId, details: toDetails(call.body), version: requireIfMatch(call) },
      ...toChangeOptions(call),
      // What is hidden from the caller must not be found out by replacing it.
      canSee: (namespace) => canSee(call, namespace),
    });
    return {
      status: 200,
      json: toTopicDetail(hidePrevious(listed, call.namespaces)),
      headers: { ETag: toEtag(listed.details?.version ?? 0) },
      audit: event && mark(event),
    };
  },
});

/** Operations on the details of topics. */
export const topicDetailsOperations: readonly Operation[] = [describeTopic];
