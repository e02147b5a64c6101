import { OverloadedError } from "@topicsync/lib/errors";
import type { LoggedEvent } from "../../../consumers/event-log/event-log.ts";
import {
  eventListSchema,
  eventQuerySchema,
  eventTraceQuerySchema,
  eventTraceSchema,
  type EventItem,
  type EventList,
  type EventQuery,
  type EventTrace,
  type EventTraceQuery,
} from "../../../schemas/events.ts";
import type { PickResponse } from "../../../schemas/pick.ts";
import { pickAt } from "../../topics/picking-at.ts";
import type { Namespaces } from "../../users/rights.ts";
import { createSearch, toContents, toItem, toPlace } from "./views.ts";
import { createNoEventsError, HttpError } from "../framework/errors.ts";
import { operation } from "../framework/operation.ts";
import { queryRules } from "../framework/query.ts";
import type { OperationServices } from "../framework/services.ts";
import { explainTopic, toPickedView } from "../pick.ts";
import { findVisibleTopic } from "../topic-rules.ts";

export const eventsPath = "/api/topicsync/v1/events";
const reading = { access: "events.read", perNamespace: true, method: "GET", tag: "events" } as const;

export const listEvents = operation({
  ...reading,
  id: "listEvents",
  paths: [eventsPath],
  summary: "List events",
  description:
    "The records of the events topic, latest first, read from Kafka for each request. A caller whose right is limited to namespaces sees the events that match a topic there. Each request is audited.",
  query: queryRules<EventQuery>(eventQuerySchema),
  replies: { 200: { description: "A page of events.", schema: eventListSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ query, namespaces }, services) {
    const log = requireLog(services);
    const { topicReader, topicIndex } = services;
    const topic = query.topic && (await findVisibleTopic(topicReader, query.topic, namespaces));
    const pick = await topicIndex.openPicker(namespaces);
    const isWanted = createSearch(query);
    const { items, read, left, next } = await log.search({
      ...{ from: toTime(query.from), to: toTime(query.to), after: query.after, limit: query.limit },
      select(logged): EventItem | undefined {
        if (!isWanted(logged)) return undefined;
        const topics = pickLogged(logged, pick);
        if (namespaces !== "all" && topics.length === 0) return undefined;
        if (topic && !topics.includes(topic.topic.externalId)) return undefined;
        const item = toItem(logged, topics.length);
        return query.outcome === undefined || query.outcome === item.outcome ? item : undefined;
      },
    });
    const json: EventList = { events: [...items], read, left, next };
    return { status: 200, json, audit: { action: "events.listed", count: items.length } };
  },
});

export const getEvent = operation({
  ...reading,
  id: "getEvent",
  paths: [`${eventsPath}/{id}`],
  summary: "Get an event",
  description:
    "A record of the events topic, what the router did with it, and why. Read from Kafka for each request, and audited.",
  parameters: { id: "Kafka topic, partition and offset, joined by hyphens, or an `eventId`." },
  query: queryRules<EventTraceQuery>(eventTraceQuerySchema),
  replies: { 200: { description: "The event.", schema: eventTraceSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { id = "" }, query: { explain, to }, namespaces }, services) {
    const logged = await findEvent(services, id, toTime(to));
    const caller = { services, namespaces };
    const [now, then] = await Promise.all([pickNow(logged, caller), pickThen(logged, caller)]);
    const topics = [...now.topics, ...(then?.topics ?? [])];
    // Others must not learn that it exists.
    if (namespaces !== "all" && topics.length === 0) throw createUnknownError(id);
    const [copies, deadLetter, explained] = await Promise.all([
      findCopies(logged, topics, caller),
      namespaces === "all" ? findDeadLetter(logged, services) : null,
      explain === undefined ? undefined : explainBoth(explain, logged, caller),
    ]);
    const json: EventTrace = {
      ...toPlace(logged, now.total),
      ...toContents(logged),
      ...{ waitsFor: logged.waitsFor, now, then, ...copies, deadLetter },
      ...(explained && { explain: explained }),
    };
    return { status: 200, json, audit: { action: "events.shown", id: logged.id } };
  },
});

const toTime = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);

/** Throws an HttpError where no events topic is configured. */
export function requireLog({ eventLog }: OperationServices): NonNullable<OperationServices["eventLog"]> {
  if (eventLog !== undefined) return eventLog;
  throw createNoEventsError("There are no events to read.");
}

/** Throws an HttpError. */
async function findEvent(
  services: OperationServices,
  id: string,
  to: number | undefined,
): Promise<LoggedEvent> {
  const log = requireLog(services);
  const placed = await log.read(id);
  if (placed !== undefined) return placed;
  if (log.isId(id)) throw createUnknownError(id);
  const { event, left } = await log.findByEventId(id, to);
  if (event !== undefined) return event;
  throw createUnknownError(
    id,
    left === 0
      ? undefined
      : `The search for an eventId ended after ten seconds, before ${left} earlier records. Give a time with "to", or list the events with "eventId".`,
  );
}

const createUnknownError = (id: string, detail?: string): HttpError =>
  new HttpError("NOT_FOUND", `There is no event "${id}".`, {
    detail: detail ?? "Kafka may have deleted it, or not have it yet.",
  });

/** Who asks. */
interface Caller {
  readonly services: OperationServices;
  readonly namespaces: Namespaces;
}

type Pick = Awaited<ReturnType<OperationServices["topicIndex"]["openPicker"]>>;

/** The external ids of the topics that the router would forward a record to. */
function pickLogged({ decoded, only }: LoggedEvent, pick: Pick): readonly string[] {
  if ("rejection" in decoded) return [];
  const picked = pick(decoded.event, decoded.record);
  return only === undefined ? picked : picked.filter((id) => only.has(id));
}

type Picked = Omit<PickResponse, "explain">;

async function pickNow({ decoded, only }: LoggedEvent, caller: Caller): Promise<Picked> {
  if ("rejection" in decoded) return { total: 0, topics: [] };
  const { topicIndex, egressNaming } = caller.services;
  const { topics, total } = await topicIndex.pick(decoded.event, decoded.record, caller.namespaces);
  return limit({ topics: topics.map((topic) => toPickedView(topic, egressNaming)), total }, only);
}

/** Null if that takes too long, or the record has no time. */
async function pickThen({ decoded, record, only }: LoggedEvent, caller: Caller): Promise<Picked | null> {
  if ("rejection" in decoded) return { total: 0, topics: [] };
  if (Number(record.timestamp) < 0) return null;
  const { topicHistory, egressNaming } = caller.services;
  const picked = { ...decoded, namespaces: caller.namespaces };
  try {
    const { topics, total } = await pickAt(topicHistory, new Date(Number(record.timestamp)), picked);
    return limit({ topics: topics.map((topic) => toPickedView(topic, egressNaming)), total }, only);
  } catch (error) {
    if (error instanceof OverloadedError) return null;
    throw error;
  }
}

function limit(picked: Picked, only: ReadonlySet<string> | undefined): Picked {
  if (only === undefined) return picked;
  const topics = picked.topics.filter(({ externalId }) => only.has(externalId));
  return { topics, total: topics.length };
}

async function findCopies(
  logged: LoggedEvent,
  topics: Picked["topics"],
  { services, namespaces }: Caller,
): Promise<{ copies: EventTrace["copies"]; copiesComplete: boolean }> {
  const { unmatchedTopic } = requireLog(services);
  const names = topics.flatMap(({ egressTopic, egressFault }) =>
    egressTopic === undefined || egressFault !== undefined ? [] : [egressTopic],
  );
  const kafkaTopics = [
    ...new Set([...names, ...(namespaces === "all" && unmatchedTopic ? [unmatchedTopic] : [])]),
  ];
  const visible = new Set(topics.map(({ externalId }) => externalId));
  const { copies, complete } = await requireLog(services).findCopies(logged, kafkaTopics);
  return {
    copies: copies
      .filter(({ externalId }) => namespaces === "all" || visible.has(externalId ?? ""))
      .map(({ externalId = null, ...copy }) => ({ externalId, ...copy })),
    copiesComplete: complete && logged.waitsFor === 0,
  };
}

async function findDeadLetter(
  { id, waitsFor }: LoggedEvent,
  { deadLetters }: OperationServices,
): Promise<EventTrace["deadLetter"]> {
  if (waitsFor > 0) return null;
  const found = await (await deadLetters).events?.get(id, "all");
  if (found === undefined) return null;
  const { code, message, replays } = found.view;
  return { id, code, message, replays: replays.length };
}

async function explainBoth(
  externalId: string,
  { decoded, record }: LoggedEvent,
  { services, namespaces }: Caller,
): Promise<EventTrace["explain"]> {
  if ("rejection" in decoded) return { now: null, then: null };
  const explainAt = (at: Date | undefined) =>
    explainTopic(services, externalId, { ...decoded, namespaces, at }).catch((error: unknown) => {
      if (error instanceof HttpError && error.code === "NOT_FOUND") return null;
      throw error;
    });
  const time = Number(record.timestamp);
  const [now, then] = await Promise.all([explainAt(undefined), time < 0 ? null : explainAt(new Date(time))]);
  return { now, then };
}
