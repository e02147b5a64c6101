import type { TopicDefinition } from "../../../src/topics/topic.ts";
import {
  encodeDefinition,
  toDefinitionText,
  frame,
  encodeJson,
  toNotificationText,
  pickEnvelope,
  type EncodedRecord,
} from "./envelopes.ts";
import type { Random } from "../../support/random.ts";

/** Turns a valid definition into a record that is probably invalid. */
type Spoiler = (definition: TopicDefinition, random: Random) => EncodedRecord;

const maxValueBytes = 100 * 1024;
/** Too large for the dead-letter topic; fits into the announcements topic only because it is compressed. */
const hugeValueBytes = 2_300_000;

const toEncodedRecord = (key: string | null, value: string | Buffer | null, headers = {}): EncodedRecord => ({
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers,
});

/** Adds or overwrites members. */
const withMembers =
  (...choices: [object, ...object[]]): Spoiler =>
  (definition, random) =>
    toEncodedRecord(definition.externalId, JSON.stringify({ ...definition, ...random.pick(choices) }));

/** Pads the value to a number of bytes. */
const withSize =
  (bytes: number): Spoiler =>
  (definition) => {
    const text = JSON.stringify({ ...definition, contentQuery: "" });
    const contentQuery = "z".repeat(bytes - Buffer.byteLength(text));
    return toEncodedRecord(definition.externalId, JSON.stringify({ ...definition, contentQuery }));
  };

const toInvalidUtf8 = (text: string): Buffer => Buffer.concat([Buffer.from(text), Buffer.from([0xc3, 0x28])]);

/** Most of these are rejected; the oracle decides which. */
const plainSpoilers: readonly (readonly [weight: number, spoil: Spoiler])[] = [
  [
    6,
    (definition, random) =>
      toEncodedRecord(
        definition.externalId,
        random.pick(["no JSON", "", "{", "{'name':1}", '{"name":"x",}', "\ufeff{}", "NaN"]),
      ),
  ],
  [
    3,
    (definition, random) =>
      toEncodedRecord(definition.externalId, toDefinitionText(definition, random).slice(0, -1)),
  ],
  [3, (definition) => toEncodedRecord(definition.externalId, toInvalidUtf8(JSON.stringify(definition)))],
  [
    3,
    (definition, random) =>
      toEncodedRecord(definition.externalId, random.pick(["[]", '"text"', "5", "null", "true", "{}"])),
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
      { contentQuery: false },
      { name: "\ud800" },
      { namespace: "\0" },
      { headerquery: "eventType=A" },
      { Name: "x" },
      { id: "1" },
    ),
  ],
  [3, withMembers({ headerQuery: "eventType" }, { contentQuery: "a=1=1" })],
  [
    1,
    ({ externalId, name }) =>
      toEncodedRecord(
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
      return toEncodedRecord(key, JSON.stringify(definition));
    },
  ],
  [
    2,
    (definition) => ({
      ...toEncodedRecord(null, JSON.stringify(definition)),
      key: toInvalidUtf8(definition.externalId),
    }),
  ],
  [2, (definition) => ({ ...toEncodedRecord(null, null), key: toInvalidUtf8(definition.externalId) })],
  [6, () => toEncodedRecord(null, null)],
  [2, withSize(maxValueBytes + 1)],
  [0.5, withSize(maxValueBytes + 20_000)],
  [0.5, withSize(maxValueBytes)],
  [0.2, withSize(hugeValueBytes)],
];

const envelopeSpoilers: readonly (readonly [weight: number, spoil: Spoiler])[] = [
  [
    2,
    (definition, random) =>
      toEncodedRecord(definition.externalId, frame("").subarray(0, random.between(1, 4))),
  ],
  [
    2,
    (definition, random) => toEncodedRecord(definition.externalId, frame(random.pick(["", "no JSON", "{"]))),
  ],
  [
    2,
    (definition) =>
      toEncodedRecord(definition.externalId, frame(JSON.stringify({ ...definition, Name: "x" }))),
  ],
  [
    2,
    (definition, random) =>
      toEncodedRecord(definition.externalId, toNotificationText("TopicStateChangeEvent", definition, random)),
  ],
  [
    2,
    ({ externalId }, random) =>
      toEncodedRecord(externalId, toNotificationText("TopicCreateEvent", undefined, random)),
  ],
  [
    2,
    ({ externalId: id }, random) =>
      toEncodedRecord(id, toNotificationText("TopicCreateEvent", { id, name: "" }, random)),
  ],
  [
    2,
    ({ externalId: id, name }, random) =>
      toEncodedRecord(id, toNotificationText("TopicCreateEvent", { id, name, headerQuery: 5 }, random)),
  ],
  [
    2,
    ({ externalId: id }, random) =>
      toEncodedRecord(`${id}!`, toNotificationText("TopicDeleteEvent", { id }, random)),
  ],
  [
    2,
    ({ externalId }, random) =>
      toEncodedRecord(externalId, toNotificationText("TopicDeleteEvent", {}, random)),
  ],
  [
    2,
    ({ externalId }) =>
      toEncodedRecord(
        externalId,
        '{"specversion":"1.0","id":"1","source":"/chaos","type":"org.example.topic"}',
      ),
  ],
  [
    2,
    (definition, random) => ({
      ...encodeDefinition("CloudEvents binary", definition, random),
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
      return encodeJson(pickEnvelope(random), JSON.stringify({ ...definition, name: 1 }), key, random);
    },
  ],
];

/** Creates records that are probably rejected: first one of each kind, in any order, then random ones. */
export function createGarbageGenerator(random: Random): (definition: TopicDefinition) => EncodedRecord {
  const firsts = random.shuffle([...plainSpoilers, ...envelopeSpoilers]).map(([, spoil]) => spoil);
  const pick = (): Spoiler => random.pickWeighted(random.chance(0.6) ? plainSpoilers : envelopeSpoilers);
  return (definition) => (firsts.pop() ?? pick())(definition, random);
}
