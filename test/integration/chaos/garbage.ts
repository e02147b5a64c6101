import type { TopicDefinition } from "../../../src/topics/topic.ts";
import {
  definitionIn,
  definitionText,
  frame,
  jsonIn,
  notification,
  someEnvelope,
  type Words,
} from "./envelopes.ts";
import type { Random } from "./random.ts";

/** Makes what cannot be used out of what could. */
type Spoiler = (definition: TopicDefinition, random: Random) => Words;

const limit = 100 * 1024;
/** More than the dead-letter topic takes; it only fits into the announcements topic because it is compressed. */
const huge = 2_300_000;

const record = (key: string | null, value: string | Buffer | null, headers = {}): Words => ({
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers,
});

/** The definition with members that do not belong there or are not what they should be. */
const withMembers =
  (...choices: [object, ...object[]]): Spoiler =>
  (definition, random) =>
    record(definition.externalId, JSON.stringify({ ...definition, ...random.pick(choices) }));

/** The definition made so long that the value has this many bytes. */
const ofSize =
  (bytes: number): Spoiler =>
  (definition) => {
    const text = JSON.stringify({ ...definition, contentQuery: "" });
    const contentQuery = "z".repeat(bytes - Buffer.byteLength(text));
    return record(definition.externalId, JSON.stringify({ ...definition, contentQuery }));
  };

const notUtf8 = (text: string): Buffer => Buffer.concat([Buffer.from(text), Buffer.from([0xc3, 0x28])]);

/** What is wrong with a plain record. Most come out as refusals; what may be accepted after all is for the oracle to say. */
const plain: readonly (readonly [weight: number, spoil: Spoiler])[] = [
  [
    6,
    (definition, random) =>
      record(
        definition.externalId,
        random.pick(["no JSON", "", "{", "{'name':1}", '{"name":"x",}', "\ufeff{}", "NaN"]),
      ),
  ],
  [3, (definition, random) => record(definition.externalId, definitionText(definition, random).slice(0, -1))],
  [3, (definition) => record(definition.externalId, notUtf8(JSON.stringify(definition)))],
  [
    3,
    (definition, random) =>
      record(definition.externalId, random.pick(["[]", '"text"', "5", "null", "true", "{}"])),
  ],
  [
    10,
    withMembers(
      { name: undefined },
      { externalId: undefined },
      { name: "" },
      { externalId: "" },
      { name: null },
      { name: 5 },
      { namespace: ["assurance"] },
      { headerQuery: {} },
      { headerQuery: "eventType" },
      { contentQuery: "a==1" },
      { contentQuery: false },
      { name: "\ud800" },
      { namespace: "\0" },
      { headerquery: "eventType=A" },
      { Name: "x" },
      { id: "1" },
    ),
  ],
  [
    1,
    ({ externalId, name }) =>
      record(
        externalId,
        `{"__proto__":{"name":"x"},"externalId":${JSON.stringify(externalId)},"name":${JSON.stringify(name)}}`,
      ),
  ],
  [
    5,
    (definition, random) => {
      const { externalId } = definition;
      const key = random.pick([
        "another",
        `${externalId} `,
        externalId.toUpperCase().slice(1),
        "",
        `"${externalId}"`,
      ]);
      return record(key, JSON.stringify(definition));
    },
  ],
  [2, (definition) => ({ ...record(null, JSON.stringify(definition)), key: notUtf8(definition.externalId) })],
  [2, (definition) => ({ ...record(null, null), key: notUtf8(definition.externalId) })],
  [6, () => record(null, null)],
  [2, ofSize(limit + 1)],
  [0.5, ofSize(limit + 20_000)],
  [0.5, ofSize(limit)],
  [0.2, ofSize(huge)],
];

/** What is wrong with a record in an envelope. */
const enveloped: readonly (readonly [weight: number, spoil: Spoiler])[] = [
  [2, (definition, random) => record(definition.externalId, frame("").subarray(0, random.between(1, 4)))],
  [2, (definition, random) => record(definition.externalId, frame(random.pick(["", "no JSON", "{"])))],
  [2, (definition) => record(definition.externalId, frame(JSON.stringify({ ...definition, Name: "x" })))],
  [
    2,
    (definition, random) =>
      record(definition.externalId, notification("TopicStateChangeEvent", definition, random)),
  ],
  [2, ({ externalId }, random) => record(externalId, notification("TopicCreateEvent", undefined, random))],
  [2, ({ externalId: id }, random) => record(id, notification("TopicCreateEvent", { id, name: "" }, random))],
  [
    2,
    ({ externalId: id, name }, random) =>
      record(id, notification("TopicCreateEvent", { id, name, headerQuery: 5 }, random)),
  ],
  [2, ({ externalId: id }, random) => record(`${id}!`, notification("TopicDeleteEvent", { id }, random))],
  [2, ({ externalId }, random) => record(externalId, notification("TopicDeleteEvent", {}, random))],
  [
    2,
    ({ externalId }) =>
      record(externalId, '{"specversion":"1.0","id":"1","source":"/chaos","type":"org.example.topic"}'),
  ],
  [
    2,
    (definition, random) => ({
      ...definitionIn("CloudEvents binary", definition, random),
      headers: {
        ce_specversion: "1.0",
        ce_id: "1",
        ce_source: "/",
        ce_type: "t",
        "content-type": "text/xml",
      },
    }),
  ],
  [
    2,
    (definition, random) => {
      const { externalId: key } = definition;
      return jsonIn(someEnvelope(random), JSON.stringify({ ...definition, name: 1 }), key, random);
    },
  ],
];

/** A record that most probably cannot be used. */
export function garbage(definition: TopicDefinition, random: Random): Words {
  const spoil = random.weighted(random.chance(0.6) ? plain : enveloped);
  return spoil(definition, random);
}
