import { eventTypeListSchema, eventTypeSchema } from "../../schemas/event-types.ts";
import { toEventTypeList, toEventTypeView } from "../event-types/view.ts";
import { mayReadEvents } from "../users/rights.ts";
import { HttpError } from "./framework/errors.ts";
import { operation, type Operation } from "./framework/operation.ts";
import { throwUnreadable } from "./impact.ts";

const common = { method: "GET", access: "topics.read", tag: "event types" } as const;
const reason = "No events are read: the setting KAFKA_EVENTS_TOPIC names no Kafka topic.";

export const listEventTypes = operation({
  ...common,
  id: "listEventTypes",
  paths: ["/api/topicsync/v1/event-types"],
  summary: "List event types",
  description:
    "The types of the last events, at most 1,000. A sample of 5,000 events or 16 MiB is read when somebody asks, and kept for five minutes.",
  replies: { 200: { description: "All event types.", schema: eventTypeListSchema } },
  async handle(_call, { eventTypes }) {
    const sample = await eventTypes.getSample().catch(throwUnreadable);
    return {
      status: 200,
      json: sample === undefined ? { reason, eventTypes: [] } : toEventTypeList(sample),
    };
  },
});

export const showEventType = operation({
  ...common,
  id: "getEventType",
  paths: ["/api/topicsync/v1/event-types/{name}"],
  summary: "Get an event type",
  description: "With the paths that its events have.",
  parameters: { name: "The `eventType`; `-` for events without one." },
  replies: { 200: { description: "The event type.", schema: eventTypeSchema } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { name = "" }, user }, { eventTypes }) {
    const sample = await eventTypes.getSample().catch(throwUnreadable);
    const type = sample?.types.find((one) => one.name === name);
    if (sample === undefined || type === undefined)
      throw new HttpError("NOT_FOUND", `There is no event type "${name}" among the last events.`);
    return { status: 200, json: toEventTypeView(type, sample, { showsValues: mayReadEvents(user) }) };
  },
});

/** Lists and shows the types of the last events. */
export const eventTypeOperations: readonly Operation[] = [listEventTypes, showEventType];
