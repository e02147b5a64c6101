import type { TopicBody } from "../../schemas/topics/topic.ts";
import { createRandom } from "../../test/support/random.ts";
import { createEqualityWorkload } from "../picker/workload.ts";
import { openTopic } from "../support/announcements.ts";

/** Every topic has its own customer, so each event matches exactly one topic. */
const workload = createEqualityWorkload("unique");
/** Makes an event about 500 bytes large. */
const description = "The link between the exchange and the customer is interrupted. ".repeat(4);
const keyPrefix = "event";
const eventsPerRequest = 1_000;

/** A log of events that each match one of the first `topics` topics. */
export interface EventLog {
  readonly topic: string;
  readonly events: number;
  readonly topics: number;
  readonly partitions: number;
}

/** The number of the topic that an event matches. */
const pickTopic = (event: number, topics: number): number =>
  createRandom(Math.imul(event + 1, 0x85ebca6b)).between(0, topics - 1);

/** The external id of the topic that an event matches. */
export const getExternalId = (event: number, topics: number): string => `topic${pickTopic(event, topics)}`;

export const createEventRecord = (event: number, topics: number): { key: string; value: string } => ({
  key: `${keyPrefix}${event}`,
  value: workload.matchingEvent(event, pickTopic(event, topics), description),
});

/** The number of an event by the key of its record. */
export const parseEventNumber = (key: Buffer | null): number => Number(String(key).slice(keyPrefix.length));

/** Creates the log. */
export async function fillLog(brokers: string, log: EventLog): Promise<void> {
  await using target = await openTopic(brokers, log.topic, log.partitions);
  for (let first = 0; first < log.events; first += eventsPerRequest) {
    const size = Math.min(eventsPerRequest, log.events - first);
    const messages = Array.from({ length: size }, (_, i) => createEventRecord(first + i, log.topics));
    await target.producer.send({ topic: log.topic, messages });
  }
}

export function* createBodies(topics: number): Generator<TopicBody> {
  for (const { id, filters } of workload.topics(0, topics))
    yield {
      externalId: id,
      name: id,
      namespace: "assurance",
      headerQuery: filters.headerQuery ?? null,
      contentQuery: filters.contentQuery ?? null,
    };
}

/** The same topics as lines of an id, a tab and a rule of Event Ruler. */
export function* createRuleLines(topics: number): Generator<string> {
  for (const { id, rule } of workload.rules(0, topics)) yield `${id}\t${rule}\n`;
}
