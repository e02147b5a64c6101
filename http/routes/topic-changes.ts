import {
  topicCheckSchema,
  topicDraftSchema,
  type TopicCheck,
  type TopicDraft,
} from "../../schemas/topic-check.ts";
import { topicDetailSchema } from "../../schemas/topic-view.ts";
import { topicBodySchema, type TopicBody } from "../../schemas/topic.ts";
import { toTopicDetail } from "../../src/topics/topic-view.ts";
import type { TopicListing } from "../../src/topics/listing.ts";
import type { TopicService } from "../../src/topics/service.ts";
import { UnknownTopicError, type Switched, type TopicSwitch } from "../../src/topics/switch.ts";
import { toDefinition } from "../../src/topics/topic.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation, type Reply } from "../framework/operation.ts";

const checkTopic = createValidator<TopicBody>(topicBodySchema);
const checkDraft = createValidator<TopicDraft>(topicDraftSchema);

export interface TopicChanges {
  readonly topics: TopicService;
  readonly topicSwitch: TopicSwitch;
  readonly topicListing: TopicListing;
}

const externalId = { externalId: "External id of the topic." } as const;

/** Checking a definition before it is created, and taking topics out of use and back. */
export const topicChangeOperations = ({
  topics,
  topicSwitch,
  topicListing,
}: TopicChanges): readonly Operation[] => {
  /** Tells what became of a topic, and for the audit that it was changed, where it was. */
  async function told(
    action: "topic.disabled" | "topic.enabled",
    switching: Promise<Switched>,
  ): Promise<Reply> {
    const { topic, changed } = await switching.catch((error: unknown) => {
      throw error instanceof UnknownTopicError
        ? new HttpError("NOT_FOUND", `${capitalised(error.message)}.`)
        : error;
    });
    const { externalId, id } = topic;
    return {
      status: 200,
      json: toTopicDetail((await topicListing.find(externalId)) ?? { topic }),
      ...(changed && { audit: { action, externalId, id } }),
    };
  }

  return [
    operation<TopicDraft>({
      id: "checkTopic",
      method: "POST",
      paths: ["/api/topicsync/v1/topic-check"],
      access: roles.eventManagement,
      tag: "topics",
      summary: "Validate a topic definition",
      description:
        "Lists every problem that creating the topic would report, including unique values already in use. Incomplete definitions are allowed. Read-only.",
      body: { schema: topicDraftSchema, check: checkDraft, wrongTypeStatus: 415 },
      replies: { 200: { description: "The problems found.", schema: topicCheckSchema } },
      async handle({ body }) {
        const draft = { ...body, name: body.name ?? "", externalId: body.externalId ?? "" };
        const members = checkTopic(draft);
        const faults = [...(members.ok ? [] : members.faults), ...(await topics.check(toDefinition(draft)))];
        const json: TopicCheck = { faults: faults.map(({ path, message }) => ({ path, message })) };
        return { status: 200, json, headers: { "Cache-Control": "no-store" } };
      },
    }),
    operation({
      id: "disableTopic",
      method: "POST",
      paths: ["/api/topicsync/v1/topics/{externalId}/disable"],
      access: roles.eventManagement,
      tag: "topics",
      summary: "Disable a topic",
      description:
        "Events no longer match it, and its unique values become available. Topics created by an announcement cannot be disabled.",
      parameters: externalId,
      replies: { 200: { description: "The topic is disabled.", schema: topicDetailSchema } },
      refusals: ["NOT_FOUND", "EXTERNAL_ID_TAKEN"],
      handle: ({ parameters: { externalId: id = "" }, user }) =>
        told("topic.disabled", topicSwitch.disable(id, user.name)),
    }),
    operation({
      id: "enableTopic",
      method: "POST",
      paths: ["/api/topicsync/v1/topics/{externalId}/enable"],
      access: roles.eventManagement,
      tag: "topics",
      summary: "Enable a topic",
      description: "Restores the topic last disabled under this external id, with its original sys_id.",
      parameters: externalId,
      replies: { 200: { description: "The topic is active.", schema: topicDetailSchema } },
      refusals: [
        ...(["NOT_FOUND", "EXTERNAL_ID_TAKEN", "BAD_FILTER"] as const),
        ...(["DUPLICATE_EXTERNAL_ID", "DUPLICATE_COMBINATION"] as const),
      ],
      handle: ({ parameters: { externalId: id = "" } }) => told("topic.enabled", topicSwitch.enable(id)),
    }),
  ];
};

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
