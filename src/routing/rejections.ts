import { RejectionError } from "@topicsync/lib/errors";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { Undelivered } from "./plan.ts";

/** A longer list would make the dead letter too large. Its replay then goes to all topics. */
const maxListedBytes = 500_000;
const maxNamedTopics = 20;

/** A dead letter for each event that could not be forwarded to all of its topics. */
export function toRejections(undelivered: readonly Undelivered[]): EventRejection[] {
  return [...Map.groupBy(undelivered, ({ event }) => event)].map(([event, parts]) => {
    const leftOut = parts.find(({ code }) => code === "TOO_MANY_TOPICS");
    const single = parts.filter(({ code }) => code !== "TOO_MANY_TOPICS");
    const explained = [...(leftOut === undefined ? [] : [leftOut]), ...single.slice(0, maxNamedTopics)];
    const details = explained.map((part) => ({ path: "", message: explain(part) }));
    const sentences = details.map(({ message }) => `The event ${message}.`);
    const more = single.length > maxNamedTopics ? [`${single.length - maxNamedTopics} more topics.`] : [];
    const ids = parts.map(({ externalId }) => externalId);
    const list = JSON.stringify(ids);
    // Topics that are left out are none of the event's any more.
    const isPartial =
      (leftOut !== undefined || single.length < event.topics.length) && list.length <= maxListedBytes;
    return {
      offset: event.record.offset,
      rejection: new RejectionError(
        explained[0]?.code ?? "NO_EGRESS_TOPIC",
        [...sentences, ...more].join(" "),
        details,
      ),
      headers: isPartial ? { [routedEventHeader.undelivered]: list } : {},
    };
  });
}

function explain({ externalId, topic, code, reason }: Undelivered): string {
  if (code === "TOO_MANY_TOPICS") return reason;
  const wanted =
    externalId === undefined ? "matches no topic, and" : `belongs to the topic "${externalId}", but`;
  return code === "NO_EGRESS_TOPIC"
    ? `${wanted} the Kafka topic "${topic}" is missing: ${reason}`
    : `${wanted} the Kafka topic "${topic}" rejects it: ${reason}`;
}

/** Why an event is a dead letter. */
export interface EventRejection {
  readonly offset: number;
  readonly rejection: RejectionError;
  /** Further headers of the dead letter. */
  readonly headers?: Readonly<Record<string, string>>;
}
