import { RejectionError } from "@topicsync/lib/errors";
import {
  FilterSyntaxError,
  type EventRecord,
  readFilters,
  explain,
  type ConditionResult,
} from "@topicsync/filters";
import { toEgressView, type EgressNaming } from "@topicsync/kafka";
import type { ValidationResult } from "@topicsync/lib/validation";
import {
  eventSchema,
  pickQuerySchema,
  pickResponseSchema,
  type PickQuery,
  type PickResponse,
} from "../../schemas/pick.ts";
import { decodeEventText } from "../../consumers/events/decode.ts";
import { addRecord, checkEvent, readEventRecord, type DecodedEvent } from "../routing/event.ts";
import { toExplanation } from "../routing/explanation.ts";
import { pickAt } from "../topics/picking-at.ts";
import type { Topic } from "../topics/topic.ts";
import { includesNamespace, type Namespaces } from "../users/rights.ts";
import { HttpError } from "./framework/errors.ts";
import { operation, versioned, type Operation } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";
import type { OperationServices } from "./framework/services.ts";
import { readingTopics } from "./topic-rules.ts";

/** Events in Kafka may be larger than other bodies. */
export const maxEventBytes = 1024 * 1024;

/**
 * `POST …/topic/pick[?explain=EXTERNALID][&at=TIME][&record=JSON]`: the topics that an event belongs to. The
 * body is read as the router reads the value of a record.
 */
export const pickTopics = operation({
  ...readingTopics,
  id: "pickTopics",
  method: "POST",
  paths: [
    ...versioned("/api/svc_api_notif_mgmt", "/topic/pick"),
    ...versioned("/api/sn_api_notif_mgmt", "/topic/pick"),
  ],
  summary: "Find the topics that match an event",
  description:
    "Evaluates the filters of all active topics that the caller may read against the event. The body is read as the router reads the value of a record, so it may also be a CloudEvent. Read-only.",
  body: {
    schema: eventSchema,
    parse: decodeEventText,
    check: checkDecoded,
    wrongTypeStatus: 415,
    maxBytes: maxEventBytes,
  },
  query: queryRules<PickQuery>(pickQuerySchema),
  replies: {
    200: {
      description: "The matching topics, sorted by external id: at most 1,000, and the number of all.",
      schema: pickResponseSchema,
    },
  },
  rejections: ["BAD_FILTER", "NOT_FOUND", "UNDECODABLE"],
  async handle({ query: { explain: explainedId, record: given, at }, body, namespaces }, services) {
    const { topicIndex, topicHistory, egressNaming } = services;
    const { event } = body;
    const record = addRecord(body, readGivenRecord(given));
    const picked = { event, record, namespaces, at: at === undefined ? undefined : new Date(at) };
    const explained = explainedId && (await explainTopic(services, explainedId, picked));
    const { topics, total } =
      picked.at === undefined
        ? await topicIndex.pick(event, record, namespaces)
        : await pickAt(topicHistory, picked.at, picked);
    const json: PickResponse = {
      total,
      topics: topics.map((topic) => toPickedView(topic, egressNaming)),
      ...(explained && { explain: explained }),
    };
    return { status: 200, json };
  },
});

export const pickOperations: readonly Operation[] = [pickTopics];

type Picked = PickResponse["topics"][number];

export function toPickedView(topic: Picked, naming: EgressNaming | undefined): Picked {
  const { id, externalId, name, namespace, version } = topic;
  return {
    ...{ id, externalId, name, namespace },
    ...(version !== undefined && { version }),
    ...toEgressView(naming, topic),
  };
}

/** Only a missing body was not decoded. */
function checkDecoded(body: unknown): ValidationResult<DecodedEvent> {
  if (isDecoded(body)) return { ok: true, value: body };
  const checked = checkEvent(body);
  return checked.ok ? { ok: true, value: { event: checked.value, record: {} } } : checked;
}

const isDecoded = (body: unknown): body is DecodedEvent =>
  typeof body === "object" && body !== null && "event" in body && "record" in body;

/** Throws a RejectionError. */
export function readGivenRecord(record: string | undefined): EventRecord | undefined {
  if (record === undefined) return undefined;
  const read = readEventRecord(record);
  if (read.ok) return read.value;
  throw new RejectionError(
    "SCHEMA_VIOLATION",
    "The query parameter record does not describe a record.",
    read.faults.map(({ path, message }) => ({ path: `/record${path}`, message })),
  );
}

/** An event, what is known of its record, where the caller may read topics, and of when. */
interface PickedEvent extends DecodedEvent {
  readonly namespaces: Namespaces;
  readonly at: Date | undefined;
}

/** Which conditions of a topic an event meets. Throws an HttpError for a topic that does not exist. */
export async function explainTopic(
  { topicReader, topicHistory }: OperationServices,
  externalId: string,
  { event, record, namespaces, at }: PickedEvent,
): Promise<NonNullable<PickResponse["explain"]>> {
  const topic =
    at === undefined
      ? await findActive(topicReader, externalId)
      : (await topicHistory.findAt(externalId, at))?.topic;
  if (topic === undefined || !includesNamespace(namespaces, topic.namespace)) {
    const when = at === undefined ? "" : ` at ${at.toISOString()}`;
    throw new HttpError("NOT_FOUND", `There is no topic with the external id "${externalId}"${when}.`);
  }
  const version = at && { version: topic.version };
  return { ...toExplanation(externalId, explainConditions(topic, event, record)), ...version };
}

async function findActive(
  topicReader: OperationServices["topicReader"],
  externalId: string,
): Promise<Topic | undefined> {
  const found = await topicReader.find(externalId);
  return found?.retired === undefined ? found?.topic : undefined;
}

/** A topic from before filters were checked may have one that cannot be read. */
function explainConditions(topic: Topic, event: unknown, record: EventRecord | undefined): ConditionResult[] {
  try {
    return explain(readFilters(topic), event, record);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    const { message, member = "", problem } = error;
    throw new RejectionError("BAD_FILTER", `The topic "${topic.externalId}" is never picked: ${message}`, [
      { path: `/${member}`, message: problem },
    ]);
  }
}
