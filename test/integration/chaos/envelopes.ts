import type { TopicDefinition } from "../../../src/topics/topic.ts";
import type { Random } from "../../support/random.ts";

export interface EncodedRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** A tombstone if `json` is undefined. */
interface Content {
  readonly json?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly framed?: boolean;
}

/** Envelopes with their weights. */
const envelopes = [
  [40, "plain"],
  [10, "Confluent"],
  [10, "TMF688"],
  [5, "TMF688 in Confluent"],
  [10, "CloudEvents binary"],
  [5, "TMF688 in CloudEvents binary"],
  [10, "CloudEvents structured"],
  [5, "TMF688 in CloudEvents structured"],
  [5, "CloudEvents structured in Confluent"],
] as const;

export type Envelope = (typeof envelopes)[number][1];

export const pickEnvelope = (random: Random): Envelope => random.pickWeighted(envelopes);

/** A tenth of the records have no key. */
export function encodeDefinition(
  envelope: Envelope,
  definition: TopicDefinition,
  random: Random,
): EncodedRecord {
  const content = wrap(envelope, random, {
    plain: () => toDefinitionText(definition, random),
    event: () => toEventText(definition, random),
  });
  return toEncodedRecord(random.chance(0.1) ? undefined : definition.externalId, content);
}

/** TMF688 has a delete event; the other envelopes name the topic by the key and have no value. */
export function encodeTombstone(envelope: Envelope, externalId: string, random: Random): EncodedRecord {
  const event = (): string => toDeleteEventText(externalId, random);
  const isEvent = envelope.startsWith("TMF688");
  const content: Content = isEvent
    ? wrap(envelope, random, { plain: event, event })
    : {
        headers: envelope === "CloudEvents binary" ? createCloudEventHeaders(random) : {},
        framed: envelope.endsWith("Confluent"),
      };
  return toEncodedRecord(isEvent && random.chance(0.2) ? undefined : externalId, content);
}

export function encodeJson(
  envelope: Envelope,
  json: string,
  key: string | undefined,
  random: Random,
): EncodedRecord {
  return toEncodedRecord(key, wrap(envelope, random, { plain: () => json, event: () => json }));
}

function wrap(
  envelope: Envelope,
  random: Random,
  { plain, event }: { plain: () => string; event: () => string },
): Content {
  switch (envelope) {
    case "plain":
      return { json: plain(), headers: {} };
    case "Confluent":
      return { json: plain(), headers: {}, framed: true };
    case "TMF688":
      return { json: event(), headers: {} };
    case "TMF688 in Confluent":
      return { json: event(), headers: {}, framed: true };
    case "CloudEvents binary":
      return { json: plain(), headers: createCloudEventHeaders(random) };
    case "TMF688 in CloudEvents binary":
      return { json: event(), headers: createCloudEventHeaders(random) };
    case "CloudEvents structured":
      return toStructuredEvent(plain(), random);
    case "TMF688 in CloudEvents structured":
      return toStructuredEvent(event(), random);
    case "CloudEvents structured in Confluent":
      return { ...toStructuredEvent(plain(), random), framed: true };
  }
}

function toEncodedRecord(key: string | undefined, { json, headers, framed = false }: Content): EncodedRecord {
  return {
    key: key === undefined ? null : framed ? frame(JSON.stringify(key)) : Buffer.from(key),
    value: json === undefined ? null : framed ? frame(json) : Buffer.from(json),
    headers,
  };
}

/** Confluent's framing: a zero byte and a four-byte schema id. */
export function frame(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(4_711, 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

const createCloudEventHeaders = (random: Random): Record<string, string> => ({
  ce_specversion: "1.0",
  ce_id: String(random.between(1, 1_000_000)),
  ce_source: "/chaos",
  ce_type: "org.example.topic",
  ...(random.chance(0.5) ? { "content-type": "application/json" } : {}),
});

function toStructuredEvent(json: string, random: Random): Content {
  const data = random.chance(0.3)
    ? `"data_base64":${JSON.stringify(Buffer.from(json).toString("base64"))}`
    : `"data":${json}`;
  const contentType = random.chance(0.3) ? '"datacontenttype":"application/json",' : "";
  return {
    json: `{"specversion":"1.0","id":"${random.between(1, 1_000_000)}","source":"/chaos","type":"org.example.topic",${contentType}${data}}`,
    headers: random.chance(0.5) ? { "content-type": "application/cloudevents+json" } : {},
  };
}

/** In random order; empty members are "", null or missing. */
function shuffleMembers(definition: TopicDefinition, random: Random): [string, unknown][] {
  const all = random.shuffle(Object.entries(definition));
  return all.flatMap(([name, text]): [string, unknown][] => {
    if (text !== "") return [[name, text]];
    return random.pick<[string, unknown][]>([[[name, ""]], [[name, null]], []]);
  });
}

/** Sometimes indented or with escaped characters. */
export function toJsonText(value: unknown, random: Random): string {
  const json = JSON.stringify(value, null, random.chance(0.1) ? 2 : undefined);
  if (random.chance(0.8)) return json;
  return json.replaceAll(/[^\n -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export const toDefinitionText = (definition: TopicDefinition, random: Random): string =>
  toJsonText(Object.fromEntries(shuffleMembers(definition, random)), random);

function toEventText(definition: TopicDefinition, random: Random): string {
  const { externalId, ...rest } = definition;
  const id = random.chance(0.6)
    ? { id: externalId }
    : random.chance(0.5)
      ? { externalId }
      : { id: "the hub's own id", externalId };
  const described = random.chance(0.5) ? { "@type": "Topic", href: "https://example.org/topic" } : {};
  const optional = Object.fromEntries(shuffleMembers({ externalId: "", ...rest }, random));
  delete optional["externalId"];
  const topic = { ...described, ...optional, ...id };
  return toNotificationText(
    random.pick(["TopicCreateEvent", "TopicAttributeValueChangeEvent"]),
    topic,
    random,
  );
}

function toDeleteEventText(externalId: string, random: Random): string {
  const topic = random.chance(0.5) ? { id: externalId } : { id: "the hub's own id", externalId };
  return toNotificationText("TopicDeleteEvent", topic, random);
}

export function toNotificationText(eventType: string, topic: unknown, random: Random): string {
  const event = {
    eventId: String(random.between(1, 1_000_000)),
    eventTime: "2026-01-02T03:04:05Z",
    eventType,
    event: { topic },
  };
  return toJsonText(event, random);
}
