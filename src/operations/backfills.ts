import { currentDate } from "@topicsync/lib/platform";
import {
  backfillListSchema,
  backfillQuerySchema,
  backfillSchema,
  defaultBackfillRate,
  newBackfillSchema,
  type BackfillList,
  type BackfillQuery,
  type NewBackfillBody,
} from "../../schemas/backfill.ts";
import { toBackfillEvent, toBackfillView, type Backfill } from "../routing/backfill.ts";
import { UnknownTopicError } from "../topics/definition-change.ts";
import type { Topic } from "../topics/topic.ts";
import { includesNamespace } from "../users/rights.ts";
import { bodyRules } from "./framework/body.ts";
import { createNoEventsError, HttpError } from "./framework/errors.ts";
import { operation, type Call, type Operation } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";
import type { OperationServices } from "./framework/services.ts";
import {
  canSee,
  createHiddenError,
  findExternalId,
  readingTopics,
  requireStorable,
  toChangeOptions,
  writingTopics,
} from "./topic-rules.ts";

const path = "/api/topicsync/v1/backfills";
const parameters = { id: "The `id` of the backfill." };
/** More would only wait. */
const maxRunning = 100;

export const createBackfill = operation({
  ...writingTopics,
  id: "createBackfill",
  method: "POST",
  paths: ["/api/topicsync/v1/topics/{externalId}/backfills"],
  summary: "Backfill a topic",
  description:
    "Forwards events that the router has read already to this topic alone: those of a time that match its filters, and that its Kafka topic has no copy of. It begins 75 seconds after the topic was changed, or a backfill of it was cancelled, so that no event is left out or sent twice. `previewImpact` with the filters of the topic counts the events.",
  parameters: { externalId: "External id of an active topic, or its sys_id." },
  body: bodyRules<NewBackfillBody>(newBackfillSchema),
  replies: {
    202: { description: "The backfill, which begins soon.", schema: backfillSchema },
  },
  rejections: ["NOT_FOUND", "BAD_EGRESS_NAME", "BACKFILL_RUNNING"],
  async handle(call, services) {
    const { from, to, rate = defaultBackfillRate } = call.body;
    const topic = await findActiveTopic(call, services);
    const requestBackfill = requireRouter(services);
    requireStorable(call, services.egressNaming, topic);
    if ((await services.backfillStore.countRunning()) >= maxRunning)
      throw new HttpError("OVERLOADED", `${maxRunning} backfills are waiting or running.`, {
        detail: "Wait for the end of one of them, or cancel one.",
      });
    const times = { from: new Date(from), to: to === undefined ? null : new Date(to) };
    const created = await requestBackfill(topic, { ...times, rate, requestedBy: call.user.name });
    if (created === undefined)
      throw new HttpError("BACKFILL_RUNNING", `A backfill of "${topic.externalId}" is waiting or running.`, {
        detail: "Wait for its end, or cancel it.",
      });
    const audit = toBackfillEvent("backfill.requested", created);
    return { status: 202, json: toBackfillView(created), audit };
  },
});

export const listBackfills = operation({
  ...readingTopics,
  id: "listBackfills",
  method: "GET",
  paths: [path],
  summary: "List backfills",
  description: "The latest ones, of topics that the caller may read.",
  query: queryRules<BackfillQuery>(backfillQuerySchema),
  replies: { 200: { description: "The backfills.", schema: backfillListSchema } },
  async handle({ query: { limit }, namespaces }, { backfillStore }) {
    const found = await backfillStore.list({ namespaces, limit });
    const json: BackfillList = { backfills: found.map(toBackfillView) };
    return { status: 200, json };
  },
});

export const getBackfill = operation({
  ...readingTopics,
  id: "getBackfill",
  method: "GET",
  paths: [`${path}/{id}`],
  summary: "Get a backfill",
  description: "Its state and progress.",
  parameters,
  replies: { 200: { description: "The backfill.", schema: backfillSchema } },
  rejections: ["NOT_FOUND"],
  async handle(call, services) {
    const found = await findBackfill(call, services);
    if (!includesNamespace(call.namespaces, found.topic.namespace)) throw createUnknownError(call);
    return { status: 200, json: toBackfillView(found) };
  },
});

export const cancelBackfill = operation({
  ...writingTopics,
  id: "cancelBackfill",
  method: "POST",
  paths: [`${path}/{id}/cancel`],
  summary: "Cancel a backfill",
  description: "It ends within seconds. What was forwarded stays. One that has ended is not changed.",
  parameters,
  replies: { 200: { description: "The backfill.", schema: backfillSchema } },
  rejections: ["NOT_FOUND"],
  async handle(call, services) {
    const found = await findBackfill(call, services);
    const { namespace } = found.topic;
    if (!includesNamespace(call.namespaces, namespace))
      throw canSee(call, namespace) ? createHiddenError(call, namespace) : createUnknownError(call);
    const end = { state: "cancelled", reason: null, endedOn: currentDate() } as const;
    const ended = (await services.backfillStore.end(found.id, end)) ?? found;
    const isCancelled = found.state === "running" && ended.state === "cancelled";
    const audit = isCancelled ? toBackfillEvent("backfill.cancelled", ended) : undefined;
    return { status: 200, json: toBackfillView(ended), audit };
  },
});

/** Requests, shows and cancels backfills. */
export const backfillOperations: readonly Operation[] = [
  createBackfill,
  listBackfills,
  getBackfill,
  cancelBackfill,
];

function requireRouter({ requestBackfill }: Pick<OperationServices, "requestBackfill">) {
  if (requestBackfill !== undefined) return requestBackfill;
  throw createNoEventsError("There are no events to forward.");
}

type Caller = Pick<Call, "user" | "namespaces" | "parameters">;

/** Finds the topic in the path, which the caller may change. */
async function findActiveTopic(
  call: Caller,
  { topicReader }: Pick<OperationServices, "topicReader">,
): Promise<Topic> {
  const externalId = await findExternalId(call, { topicReader });
  const found = await topicReader.find(externalId);
  if (found === undefined)
    throw new UnknownTopicError(`there is no topic with the external id "${externalId}"`);
  toChangeOptions(call).check(found.topic);
  if (found.retired === undefined) return found.topic;
  throw new HttpError("NOT_FOUND", `The topic "${externalId}" is disabled.`, {
    detail: "A backfill needs an active topic: enable it first.",
  });
}

const createUnknownError = ({ parameters: { id = "" } }: Pick<Call, "parameters">): HttpError =>
  new HttpError("NOT_FOUND", `There is no backfill "${id}".`);

async function findBackfill(
  call: Pick<Call, "parameters">,
  { backfillStore }: Pick<OperationServices, "backfillStore">,
): Promise<Backfill> {
  const found = await backfillStore.find(call.parameters["id"] ?? "");
  if (found === undefined) throw createUnknownError(call);
  return found;
}
