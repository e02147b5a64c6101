import {
  eventSchema,
  pickQuerySchema,
  pickResponseSchema,
  type PickQuery,
  type PickResponse,
} from "../../schemas/pick.ts";
import { RejectionError } from "../lib/errors.ts";
import { decodeEventText } from "../../consumers/events/decode.ts";
import { addRecord, checkEvent, readEventRecord, type DecodedEvent } from "../routing/event.ts";
import { FilterSyntaxError } from "../matching/filter/filter.ts";
import type { EventRecord } from "../matching/filter/record.ts";
import type { LiveTopicIndex } from "../topics/live/live-topic-index.ts";
import { toExplanation } from "../routing/explanation.ts";
import { toEgressView } from "../kafka/interface/egress-naming.ts";
import type { ValidationResult } from "../lib/validation.ts";
import type { Namespaces } from "../users/rights.ts";
import { HttpError } from "./framework/errors.ts";
import { operation, versioned, type Operation } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";

/**
 * `POST …/topic/pick[?explain=EXTERNALID][&record=JSON]`: the topics that an event belongs to. The
 * body is read as the router reads the value of a record.
 */
export const pickOperations: readonly Operation[] = [
  operation({
    id: "pickTopics",
    method: "POST",
    paths: [
      ...versioned("/api/svc_api_notif_mgmt", "/topic/pick"),
      ...versioned("/api/sn_api_notif_mgmt", "/topic/pick"),
    ],
    access: "topics.read",
    perNamespace: true,
    tag: "topics",
    summary: "Find the topics that match an event",
    description:
      "Evaluates the filters of all active topics that the caller may read against the event. The body is read as the router reads the value of a record, so it may also be a CloudEvent. Read-only.",
    body: { schema: eventSchema, parse: decodeEventText, check: checkDecoded, wrongTypeStatus: 415 },
    query: queryRules<PickQuery>(pickQuerySchema),
    replies: {
      200: {
        description: "The matching topics, sorted by external id: at most 1,000, and the number of all.",
        schema: pickResponseSchema,
      },
    },
    rejections: ["BAD_FILTER", "NOT_FOUND", "UNDECODABLE"],
    async handle(
      { query: { explain: explainedId, record: given }, body, namespaces },
      { topicIndex, egressNaming },
    ) {
      const { event } = body;
      const record = addRecord(body, readRecord(given));
      const { topics, total } = await topicIndex.pick(event, record, namespaces);
      const json: PickResponse = {
        total,
        topics: topics.map(({ id, externalId, name, namespace }) => ({
          ...{ id, externalId, name, namespace },
          ...toEgressView(egressNaming, { externalId, namespace }),
        })),
      };
      if (explainedId !== undefined)
        json.explain = await explainTopic(topicIndex, explainedId, { event, record, namespaces });
      return { status: 200, json };
    },
  }),
];

/** Only a missing body was not decoded. */
function checkDecoded(body: unknown): ValidationResult<DecodedEvent> {
  if (isDecoded(body)) return { ok: true, value: body };
  const checked = checkEvent(body);
  return checked.ok ? { ok: true, value: { event: checked.value, record: {} } } : checked;
}

const isDecoded = (body: unknown): body is DecodedEvent =>
  typeof body === "object" && body !== null && "event" in body && "record" in body;

/** Throws a RejectionError. */
function readRecord(record: string | undefined): EventRecord | undefined {
  if (record === undefined) return undefined;
  const read = readEventRecord(record);
  if (read.ok) return read.value;
  throw new RejectionError(
    "SCHEMA_VIOLATION",
    "The query parameter record does not describe a record.",
    read.faults.map(({ path, message }) => ({ path: `/record${path}`, message })),
  );
}

/** An event, what is known of its record, and where the caller may read topics. */
interface PickedEvent extends DecodedEvent {
  readonly namespaces: Namespaces;
}

async function explainTopic(
  topicIndex: LiveTopicIndex,
  externalId: string,
  picked: PickedEvent,
): Promise<NonNullable<PickResponse["explain"]>> {
  const results = await explainConditions(topicIndex, externalId, picked);
  if (results === undefined)
    throw new HttpError("NOT_FOUND", `There is no topic with the external id "${externalId}".`);
  return toExplanation(externalId, results);
}

/** A topic from before filters were checked may have one that cannot be read. */
async function explainConditions(
  topicIndex: LiveTopicIndex,
  externalId: string,
  { event, record, namespaces }: PickedEvent,
) {
  try {
    return await topicIndex.explain(externalId, event, record, namespaces);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    throw new RejectionError("BAD_FILTER", `The topic "${externalId}" is never picked: ${error.message}`, [
      { path: `/${error.member ?? ""}`, message: error.problem },
    ]);
  }
}
