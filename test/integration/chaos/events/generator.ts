import type { Random } from "../../../support/random.ts";
import { encodeJson, frame, pickEnvelope, toJsonText, type EncodedRecord } from "../envelopes.ts";
import { moveHeader, type GeneratedRecord } from "../generator.ts";
import { sentHeader } from "./topics.ts";
import {
  createVocabulary,
  maxCount,
  maxPriority,
  pickTime,
  popularType,
  regions,
  severities,
  tags,
  unwantedType,
} from "./vocabulary.ts";

export interface EventOptions {
  readonly topics: number;
  /** Returns how many partitions the events topic has now. */
  readonly countPartitions: () => number;
}

const keyCount = 300;

/** Generates events, reproducibly: with and without keys, in every envelope; some are not events. */
export function createEventGenerator(random: Random, { topics, countPartitions }: EventOptions) {
  const { pickEventType, pickSite } = createVocabulary(random.fork(), topics);
  let generated = 0;

  const maybe = <T>(value: T): T | undefined => (random.chance(0.9) ? value : undefined);
  const listOrOne = (create: () => unknown): unknown =>
    random.chance(0.2) ? Array.from({ length: random.between(0, 3) }, create) : create();

  const createAlarm = (): object => ({
    severity: maybe(random.pick(severities)),
    count: random.chance(0.2) ? String(random.between(0, maxCount)) : random.between(0, maxCount),
    site: maybe(random.chance(0.05) ? null : pickSite()),
    tags: random.shuffle(tags).slice(0, random.between(0, 3)),
    raisedOn: pickTime(random),
    acknowledged: random.chance(0.5),
    // Larger than what the router sends in one request, when there are some of them.
    ...(random.chance(0.002) ? { details: "ö".repeat(random.between(1_000, 30_000)) } : {}),
  });

  const createEvent = (eventType: string, priority: number): object => ({
    eventId: `event ${generated}`,
    "@type": maybe("Event"),
    eventType,
    priority: random.chance(0.5) ? priority : String(priority),
    source: listOrOne(() => ({ region: maybe(random.pick(regions)) })),
    event: { alarm: listOrOne(createAlarm) },
  });

  const createWanted = (): object => createEvent(pickEventType(), random.between(0, maxPriority));

  const pickKey = (): string | undefined =>
    random.chance(0.5) ? undefined : `key ${random.between(1, keyCount)}`;

  function encode(event: unknown): EncodedRecord {
    return encodeJson(pickEnvelope(random), toJsonText(event, random), pickKey(), random);
  }

  const toEncodedRecord = (value: string | Buffer | null, headers = {}): EncodedRecord => {
    const key = pickKey();
    return {
      key: key === undefined ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers,
    };
  };

  /** None of these can be read as an event. */
  const garbage = [
    () => toEncodedRecord(null),
    () => toEncodedRecord(random.pick(["no JSON", "", "{", "{'eventType':1}", "\ufeff{}", "NaN"])),
    () => toEncodedRecord(JSON.stringify(createWanted()).slice(0, -1)),
    () => toEncodedRecord(Buffer.concat([Buffer.from(JSON.stringify(createWanted())), Buffer.from([0xc3])])),
    () => toEncodedRecord(random.pick(["[]", '"text"', "5", "null", "true"])),
    () => encode({ ...createWanted(), ...random.pick<object>([{ eventType: 5 }, { eventId: null }]) }),
    () => encode({ ...createWanted(), event: random.pick<unknown>(["text", null, 7, []]) }),
    () => toEncodedRecord(frame("").subarray(0, random.between(1, 4))),
    () => toEncodedRecord(frame(random.pick(["", "no JSON", "{"]))),
    () => toEncodedRecord('{"specversion":"1.0","id":"1","source":"/chaos","type":"org.example.event"}'),
    () =>
      toEncodedRecord(JSON.stringify(createWanted()), {
        ce_specversion: "1.0",
        ce_id: "1",
        ce_source: "/",
        ce_type: "t",
        "content-type": "text/xml",
      }),
  ] as const;

  const kinds = [
    [900, "wanted", () => encode(createWanted())],
    [5, "popular", () => encode(createEvent(popularType, 0))],
    [45, "unwanted", () => encode(createEvent(unwantedType, 0))],
    [50, "garbage", () => random.pick(garbage)()],
  ] as const;

  function create(): GeneratedRecord {
    generated += 1;
    const [, move, encodeOne] = random.pickWeighted(kinds.map((kind) => [kind[0], kind] as const));
    const { key, value, headers } = encodeOne();
    const own = random.chance(0.2) ? { "own-header": random.pick(["", "größer", "a,b"]) } : {};
    return {
      key,
      value,
      headers: { ...headers, ...own, [moveHeader]: move, [sentHeader]: String(Date.now()) },
      partition: random.between(0, countPartitions() - 1),
    };
  }

  return {
    take: (count: number): GeneratedRecord[] => Array.from({ length: count }, create),
  };
}
