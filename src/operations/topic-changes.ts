import { RejectionError, type Fault } from "@topicsync/lib/errors";
import {
  topicChangesBodySchema,
  topicChangesReplySchema,
  type TopicChangeBody,
  type TopicChangesBody,
  type TopicChangesReply,
} from "../../schemas/topics/changes.ts";
import { topicDetailSchema } from "../../schemas/topics/view.ts";
import { topicBodySchema, type TopicBody } from "../../schemas/topics/topic.ts";
import type { DefinitionChange } from "../topics/definition-change.ts";
import { changeTopic } from "../topics/changing.ts";
import { toDefinition } from "../topics/topic.ts";
import { bodyRules } from "./framework/body.ts";
import { requireIfMatch } from "./framework/if-match.ts";
import { operation, type Operation } from "./framework/operation.ts";
import {
  changeRejections,
  findExternalId,
  forceRules,
  requireFreeIds,
  requireStorable,
  replyWithTopic,
  requireUnmanagedFor,
  toChangeOptions,
} from "./topic-rules.ts";
import { findWarningHeaders } from "./topic-warnings.ts";

export const putTopic = operation({
  id: "changeTopic",
  method: "PUT",
  paths: ["/api/topicsync/v1/topics/{id}"],
  access: "topics.write",
  perNamespace: true,
  tag: "topics",
  summary: "Change a topic",
  description:
    "Replaces the definition, under the same sys_id, if the topic still has the version in `If-Match`. Another external id renames the topic, with its details and usage. Repeating a change that is stored has no effect. Topics of the channel cannot be changed: announce the definition instead.",
  parameters: { id: "External id of the topic, or its sys_id." },
  ifMatch: "required",
  query: forceRules,
  body: bodyRules<TopicBody>(topicBodySchema),
  replies: {
    200: {
      ...{ description: "The topic is changed.", schema: topicDetailSchema },
      ...{ hasEtag: true, hasWarnings: true },
    },
  },
  rejections: changeRejections,
  async handle(call, services) {
    const { body, user, namespaces } = call;
    const id = await findExternalId(call, services);
    const version = requireIfMatch(call);
    const mark = await requireUnmanagedFor(call, services.topicDetails, [id]);
    const definition = toDefinition(body);
    requireStorable(call, services.egressNaming, definition);
    if (definition.externalId !== id) await requireFreeIds(services.topicReader, [definition.externalId]);
    const change: DefinitionChange = {
      ...{ kind: "change", externalId: id, definition },
      expected: version === undefined ? undefined : { version },
    };
    const { topic, events } = await changeTopic(services.topics, change, toChangeOptions(call));
    const reply = await replyWithTopic(services, { topic }, namespaces);
    const warnings = await findWarningHeaders(services, user, definition);
    return { ...reply, headers: { ...reply.headers, ...warnings }, audit: events.map(mark) };
  },
});

const maxChangesBytes = 1024 * 1024;

export const changeTopics = operation({
  id: "changeTopics",
  method: "POST",
  paths: ["/api/topicsync/v1/topic-changes"],
  access: "topics.write",
  perNamespace: true,
  tag: "topics",
  summary: "Change several topics at once",
  description:
    "Creates, changes, renames, disables and enables 1 to 500 topics, all or none; without transactions in MongoDB, one after another. Topics may exchange external ids and combinations. Each topic to change must have the given version. Repeating a request has no effect: changes that are stored count as `unchanged`. The body may have 1 MiB.",
  body: bodyRules<TopicChangesBody>(topicChangesBodySchema, { maxBytes: maxChangesBytes }),
  query: forceRules,
  replies: { 200: { description: "All changes are stored.", schema: topicChangesReplySchema } },
  rejections: [...changeRejections, "VERSION_CONFLICT"],
  async handle(call, { topics, topicDetails, topicReader, egressNaming }) {
    const { body } = call;
    const changes = body.changes.map((one, index) => toChange(one, index));
    for (const one of changes)
      if ("definition" in one && one.definition !== undefined)
        requireStorable(call, egressNaming, one.definition);
    const named = changes.flatMap((one) => ("externalId" in one ? [one.externalId] : []));
    const given = changes.flatMap((one) => ("definition" in one ? (one.definition?.externalId ?? []) : []));
    await requireFreeIds(
      topicReader,
      given.filter((id) => !named.includes(id)),
    );
    const mark = await requireUnmanagedFor(call, topicDetails, named);
    const { label, dryRun } = body;
    const { results, events } = await topics.change(changes, { ...toChangeOptions(call), label, dryRun });
    const json: TopicChangesReply = {
      results: results.map(({ outcome, topic: { externalId, id, version } }) => {
        return { outcome, externalId, id, version };
      }),
    };
    return { status: 200, json, audit: events.map(mark) };
  },
});

/** The members of a change by its kind. */
const members = {
  create: { required: ["topic"], optional: [] },
  change: { required: ["externalId", "version", "topic"], optional: ["expected"] },
  disable: { required: ["externalId", "version"], optional: ["expected"] },
  enable: { required: ["externalId", "version"], optional: ["expected", "topic"] },
} as const;

/** Throws a RejectionError for members that a change of its kind lacks, or does not have. */
function toChange(body: TopicChangeBody, index: number): DefinitionChange {
  const { kind, externalId = "", version = 0, expected, topic } = body;
  const { required, optional } = members[kind];
  const known: readonly string[] = ["kind", ...required, ...optional];
  const faults: Fault[] = [
    ...required
      .filter((member) => body[member] === undefined)
      .map((member) => ({ path: member, message: `is required for the kind ${kind}` })),
    ...Object.keys(body)
      .filter((member) => !known.includes(member))
      .map((member) => ({ path: member, message: `has no meaning for the kind ${kind}` })),
  ].map(({ path, message }) => ({ path: `/changes/${index}/${path}`, message }));
  if (faults.length > 0)
    throw new RejectionError("SCHEMA_VIOLATION", "The body does not match the schema.", faults);
  const read = { version, definition: expected && toDefinition(expected) };
  switch (kind) {
    case "create":
    case "change": {
      // It is there, as required.
      const definition = toDefinition(topic ?? { name: "", externalId: "" });
      return kind === "create" ? { kind, definition } : { kind, externalId, expected: read, definition };
    }
    case "disable":
      return { kind, externalId, expected: read };
    case "enable":
      return {
        kind,
        externalId,
        expected: read,
        definition: topic && toDefinition({ ...topic, externalId }),
      };
  }
}

/** Operations that change topics if they have the versions that the caller has read. */
export const topicChangeOperations: readonly Operation[] = [putTopic, changeTopics];
