import { RejectionError, type Fault } from "@topicsync/lib/errors";
import type { EventRecord } from "@topicsync/filters";
import { withHeaders, type LogRecord, type RecordHeader, type SendRejection } from "@topicsync/kafka";
import type { ValidationResult } from "@topicsync/lib/validation";
import { decodeEvent } from "../../../consumers/events/decode.ts";
import {
  maxSentEvents,
  sendEventsBodySchema,
  sendEventsQuerySchema,
  sentEventsSchema,
  type EventItem,
  type SendEventsQuery,
  type SentEvents,
} from "../../../schemas/events.ts";
import { routedEventHeader } from "../../../schemas/routed-event.ts";
import type { DecodedEvent } from "../../routing/event.ts";
import { eventsPath, requireLog } from "./events.ts";
import { HttpError } from "../framework/errors.ts";
import { operation } from "../framework/operation.ts";
import { queryRules } from "../framework/query.ts";
import type { OperationServices } from "../framework/services.ts";
import { maxEventBytes, readGivenRecord } from "../pick.ts";

const maxWaitMs = 10_000;
const maxAuditedIds = 100;

export const sendEvents = operation({
  access: "events.send",
  id: "sendEvents",
  method: "POST",
  paths: [eventsPath],
  tag: "events",
  summary: "Send events",
  description:
    "Writes one event, or a list of up to 500, to the events topic, and returns once all in-sync replicas have them. Events may be CloudEvents in the structured mode. If one of them is not valid, none is sent. After a 503, some may have been sent: compare `eventId`s before sending them again.",
  body: {
    schema: sendEventsBodySchema,
    parse: splitEvents,
    check: checkTexts,
    wrongTypeStatus: 415,
    maxBytes: maxEventBytes,
  },
  query: queryRules<SendEventsQuery>(sendEventsQuerySchema),
  replies: { 201: { description: "Where the events are.", schema: sentEventsSchema } },
  rejections: ["NOT_FOUND", "UNDECODABLE", "TOO_LARGE"],
  async handle({ query: { record: given, sample = false, wait }, body, user }, services) {
    const log = requireLog(services);
    const about = readGivenRecord(given) ?? {};
    const mark: RecordHeader[] = sample ? [[routedEventHeader.sample, user.name]] : [];
    const records = body.map((text) => ({
      ...{ key: toBuffer(about.$key), value: Buffer.from(text), timestamp: undefined },
      headers: withHeaders(toHeaders(about), mark),
    }));
    const events = decodeAll(records, log.maxEventBytes);
    const results = await log.send(records);
    const sent = events.flatMap((decoded, at): Sent[] => {
      const result = results[at];
      return result === undefined || "rejection" in result ? [] : [{ decoded, ...result }];
    });
    if (sent.length === 0) throw createRejectedError(results);
    const ids = sent.slice(0, maxAuditedIds).map(({ id }) => id);
    const audit = { action: "events.sent", count: sent.length, ids, ...(sample && { sample }) } as const;
    if (sent.length < results.length) return { status: 201, audit, failure: createRejectedError(results) };
    const outcomes = wait === undefined ? undefined : await waitForOutcomes(sent, services);
    const json: SentEvents = {
      events: sent.map(({ id, partition, offset }, at) => ({ id, partition, offset, ...outcomes?.[at] })),
    };
    return { status: 201, json, audit };
  },
});

declare global {
  interface JSON {
    /** Missing in the types of the language's library. */
    rawJSON(text: string): unknown;
  }
}

/** The texts of the events of a body, with their numbers as they are. Throws a SyntaxError. */
function splitEvents(text: string): string[] {
  const json = text.replace(/^\uFEFF/u, "");
  const events: unknown = JSON.parse(json, (_name, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === "number" && source !== undefined ? JSON.rawJSON(source) : value,
  );
  return Array.isArray(events) ? events.map((one) => JSON.stringify(one)) : [json];
}

function checkTexts(texts: unknown): ValidationResult<readonly string[]> {
  if (Array.isArray(texts) && texts.length >= 1 && texts.length <= maxSentEvents)
    return { ok: true, value: texts };
  const message = `must be an event, or a list of 1 to ${maxSentEvents} events`;
  return { ok: false, faults: [{ path: "", message }] };
}

const toBuffer = (text: string | null | undefined): Buffer | null =>
  typeof text === "string" ? Buffer.from(text) : null;

function toHeaders({ $header }: EventRecord): RecordHeader[] {
  return Object.entries($header ?? {}).flatMap(([name, values]) =>
    [values].flat().map((value): RecordHeader => [name, toBuffer(value)]),
  );
}

/** Throws a RejectionError with the faults of all events, unless the router would accept each. */
function decodeAll(
  records: readonly Omit<LogRecord, "offset" | "timestamp">[],
  maxBytes: number,
): DecodedEvent[] {
  const events: DecodedEvent[] = [];
  const rejections: { readonly at: number; readonly rejection: RejectionError }[] = [];
  for (const [at, record] of records.entries()) {
    const decoded = decodeEvent({ offset: 0, timestamp: "-1", ...record }, maxBytes);
    if ("event" in decoded) events.push(decoded);
    else rejections.push({ at, rejection: decoded.rejection });
  }
  const [first] = rejections;
  if (first === undefined) return events;
  if (records.length === 1) throw first.rejection;
  const faults = rejections.flatMap(({ at, rejection: { message, details } }): Fault[] =>
    details.length === 0
      ? [{ path: `/${at}`, message }]
      : details.map((fault) => ({ path: `/${at}${fault.path}`, message: fault.message })),
  );
  throw new RejectionError(first.rejection.code, "Some of the events are not valid. None was sent.", faults);
}

interface Sent {
  readonly id: string;
  readonly partition: number;
  readonly offset: number;
  readonly decoded: DecodedEvent;
}

interface Rejected {
  readonly rejection: SendRejection;
}

/** Why Kafka has not taken some records, although the others are sent. */
function createRejectedError(results: readonly ({ readonly id: string } | Rejected)[]): Error {
  const rejected = results.flatMap((result, at) =>
    "rejection" in result ? [{ at, ...result.rejection }] : [],
  );
  const others = results.length - rejected.length;
  const message = `Kafka rejects ${rejected.length} of ${results.length} events. ${others === 0 ? "None" : `The other ${others}`} were sent.`;
  const isDenied = rejected.some(({ reason }) => reason === "denied");
  const faults = rejected.map((one) => ({
    path: results.length === 1 ? "" : `/${one.at}`,
    message: one.message,
  }));
  return isDenied
    ? new HttpError("UNAVAILABLE", message, { detail: rejected[0]?.message ?? "", details: faults })
    : new RejectionError("TOO_LARGE", message, faults);
}

/** How many topics match each event now, once the router has read them. */
async function waitForOutcomes(
  sent: readonly Sent[],
  services: OperationServices,
): Promise<Pick<EventItem, "outcome" | "topics">[]> {
  const [routed, pick] = await Promise.all([
    requireLog(services).waitUntilRouted(sent, maxWaitMs),
    services.topicIndex.openPicker("all"),
  ]);
  return sent.map(({ decoded: { event, record } }, at) => {
    const topics = pick(event, record).length;
    const outcome = topics > 0 ? "matched" : "unmatched";
    return { outcome: routed[at] === true ? outcome : "waiting", topics };
  });
}
