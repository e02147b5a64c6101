import { eventTypeListSchema, eventTypeSchema } from "../../schemas/event-types.ts";
import type { EventTypeService } from "../../src/event-types/stores.ts";
import { toEventTypeList, toEventTypeView } from "../../src/event-types/view.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation } from "../framework/operation.ts";

const common = { method: "GET", access: "topics.read", tag: "event types" } as const;

/** Lists and shows the event types that were learned. */
export const eventTypeOperations = (eventTypes: EventTypeService): readonly Operation[] => [
  operation({
    ...common,
    id: "listEventTypes",
    paths: ["/api/topicsync/v1/event-types"],
    summary: "List event types",
    description: "The types of the events that the router has seen, at most 1,000.",
    replies: { 200: { description: "All event types.", schema: eventTypeListSchema } },
    handle: async () => ({ status: 200, json: toEventTypeList(await eventTypes.list()) }),
  }),
  operation({
    ...common,
    id: "getEventType",
    paths: ["/api/topicsync/v1/event-types/{name}"],
    summary: "Get an event type",
    description: "With the paths that its events have.",
    parameters: { name: "The `eventType`; `-` for events without one." },
    replies: { 200: { description: "The event type.", schema: eventTypeSchema } },
    rejections: ["NOT_FOUND"],
    async handle({ parameters: { name = "" } }) {
      const type = await eventTypes.find(name);
      if (type === undefined) throw new HttpError("NOT_FOUND", `There is no event type "${name}".`);
      return { status: 200, json: toEventTypeView(type, await eventTypes.list()) };
    },
  }),
];
