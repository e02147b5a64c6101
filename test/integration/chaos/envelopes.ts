import type { TopicDefinition } from "../../../src/topics/topic.ts";
import type { Random } from "./random.ts";

/** A record to be announced. */
export interface Words {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** An announcement as JSON, with the headers that it needs; without a value it is a tombstone. */
interface Content {
  readonly json?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly framed?: boolean;
}

/** What a saying is worded in, with its weight. Only the first is a definition and nothing else. */
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

/** One of the envelopes. */
export const someEnvelope = (random: Random): Envelope => random.weighted(envelopes);

/** A definition in an envelope; without a key now and then. */
export function definitionIn(envelope: Envelope, definition: TopicDefinition, random: Random): Words {
  const content = dressed(envelope, random, {
    plain: () => definitionText(definition, random),
    event: () => eventText(definition, random),
  });
  return worded(random.chance(0.1) ? undefined : definition.externalId, content);
}

/** A tombstone in an envelope. TMF688 has an event for it; the others leave the value out and name the topic by the key. */
export function tombstoneIn(envelope: Envelope, externalId: string, random: Random): Words {
  const event = (): string => deleteText(externalId, random);
  const isEvent = envelope.startsWith("TMF688");
  const content: Content = isEvent
    ? dressed(envelope, random, { plain: event, event })
    : {
        headers: envelope === "CloudEvents binary" ? cloudHeaders(random) : {},
        framed: envelope.endsWith("Confluent"),
      };
  return worded(isEvent && random.chance(0.2) ? undefined : externalId, content);
}

/** A value in an envelope that is made for it. */
export function jsonIn(envelope: Envelope, json: string, key: string | undefined, random: Random): Words {
  return worded(key, dressed(envelope, random, { plain: () => json, event: () => json }));
}

function dressed(
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
      return { json: plain(), headers: cloudHeaders(random) };
    case "TMF688 in CloudEvents binary":
      return { json: event(), headers: cloudHeaders(random) };
    case "CloudEvents structured":
      return structured(plain(), random);
    case "TMF688 in CloudEvents structured":
      return structured(event(), random);
    case "CloudEvents structured in Confluent":
      return { ...structured(plain(), random), framed: true };
  }
}

function worded(key: string | undefined, { json, headers, framed = false }: Content): Words {
  return {
    key: key === undefined ? null : framed ? frame(JSON.stringify(key)) : Buffer.from(key),
    value: json === undefined ? null : framed ? frame(json) : Buffer.from(json),
    headers,
  };
}

/** Confluent's framing: a zero, and the number of a schema in four bytes. */
export function frame(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(4_711, 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

const cloudHeaders = (random: Random): Record<string, string> => ({
  ce_specversion: "1.0",
  ce_id: String(random.between(1, 1_000_000)),
  ce_source: "/chaos",
  ce_type: "org.example.topic",
  ...(random.chance(0.5) ? { "content-type": "application/json" } : {}),
});

function structured(json: string, random: Random): Content {
  const data = random.chance(0.3)
    ? `"data_base64":${JSON.stringify(Buffer.from(json).toString("base64"))}`
    : `"data":${json}`;
  const contentType = random.chance(0.3) ? '"datacontenttype":"application/json",' : "";
  return {
    json: `{"specversion":"1.0","id":"${random.between(1, 1_000_000)}","source":"/chaos","type":"org.example.topic",${contentType}${data}}`,
    headers: random.chance(0.5) ? { "content-type": "application/cloudevents+json" } : {},
  };
}

/** The members in any order; those without a text may be "", null or missing. */
function members(definition: TopicDefinition, random: Random): [string, unknown][] {
  const all = random.shuffled(Object.entries(definition));
  return all.flatMap(([name, text]): [string, unknown][] => {
    if (text !== "") return [[name, text]];
    return random.pick<[string, unknown][]>([[[name, ""]], [[name, null]], []]);
  });
}

/** JSON in one of the ways to write it. */
export function jsonText(value: unknown, random: Random): string {
  const json = JSON.stringify(value, null, random.chance(0.1) ? 2 : undefined);
  if (random.chance(0.8)) return json;
  return json.replaceAll(/[^\n -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export const definitionText = (definition: TopicDefinition, random: Random): string =>
  jsonText(Object.fromEntries(members(definition, random)), random);

function eventText(definition: TopicDefinition, random: Random): string {
  const { externalId, ...rest } = definition;
  const id = random.chance(0.6)
    ? { id: externalId }
    : random.chance(0.5)
      ? { externalId }
      : { id: "the hub's own number", externalId };
  const described = random.chance(0.5) ? { "@type": "Topic", href: "https://example.org/topic" } : {};
  const optional = Object.fromEntries(members({ externalId: "", ...rest }, random));
  delete optional["externalId"];
  const topic = { ...described, ...optional, ...id };
  return notification(random.pick(["TopicCreateEvent", "TopicAttributeValueChangeEvent"]), topic, random);
}

function deleteText(externalId: string, random: Random): string {
  const topic = random.chance(0.5) ? { id: externalId } : { id: "the hub's own number", externalId };
  return notification("TopicDeleteEvent", topic, random);
}

/** A TMF688 notification about a topic. */
export function notification(eventType: string, topic: unknown, random: Random): string {
  const event = {
    eventId: String(random.between(1, 1_000_000)),
    eventTime: "2026-01-02T03:04:05Z",
    eventType,
    event: { topic },
  };
  return jsonText(event, random);
}
