import { isDeepStrictEqual } from "node:util";

import type { Db } from "mongodb";

import type { ModelTopic } from "../../unit/topics/model.ts";
import { digestOf, type ExpectedLetter, type Oracle } from "./oracle.ts";
import type { LogEntry } from "./log.ts";

/** What was found, and what it is called in Kafka and in the database. */
export interface Found {
  readonly db: Db;
  readonly topic: string;
  readonly group: string;
  /** Who created the topics over HTTP. */
  readonly user: string;
  /** Where the logs end, by partition. */
  readonly ends: ReadonlyMap<number, number>;
  /** The largest timestamp of a record, by partition. */
  readonly newest: ReadonlyMap<number, number>;
  readonly letters: readonly LogEntry[];
}

/** Every difference between what is there and what the oracle says, in words. */
export async function differences(oracle: Oracle, found: Found): Promise<string[]> {
  return [
    ...compareMaps("topic", expectedTopics(oracle, found), await storedTopics(found)),
    ...compareMaps("retired topic", expectedRetired(oracle, found), await storedRetired(found)),
    ...compareMaps("position", expectedPositions(found), await storedPositions(found)),
    ...compareLetters(oracle, found),
  ];
}

function compareMaps(
  what: string,
  expected: ReadonlyMap<string, unknown>,
  actual: ReadonlyMap<string, unknown>,
): string[] {
  return [...new Set([...expected.keys(), ...actual.keys()])].flatMap((key) => {
    const [should, is] = [expected.get(key), actual.get(key)];
    if (isDeepStrictEqual(should, is)) return [];
    return [`${what} ${key}: expected ${shown(should)}, found ${shown(is)}`];
  });
}

const shown = (value: unknown): string =>
  value === undefined ? "none" : JSON.stringify(value).slice(0, 400);

/** A topic's record without what nobody can foretell: its sys_id and its times. */
const recordOf = (topic: ModelTopic, found: Found, partition: number) => ({
  topic_id: topic.externalId,
  ...definitionIn(topic),
  user_created: false,
  type: "egress",
  source: sourceOf(topic, found, partition),
  ...(topic.previous && {
    previous: { ...definitionIn(topic.previous), source: sourceOf(topic.previous, found, partition) },
  }),
});

const definitionIn = ({ name, namespace, headerQuery, contentQuery }: ModelTopic) => ({
  topic_name: name,
  namespace,
  header_query: headerQuery,
  content_query: contentQuery,
});

const unforeseen = { sys_created_on: 0, sys_updated_on: 0, "previous.sys_updated_on": 0 } as const;

const announced = (topic: string, partition: number, offset: number) => ({
  kind: "announcement",
  topic,
  partition,
  offset,
});

const sourceOf = ({ owner, offset }: ModelTopic, { topic, user }: Found, partition: number): object =>
  owner === "http" ? { kind: "http", user } : announced(topic, partition, offset);

function expectedTopics({ models }: Oracle, found: Found): Map<string, unknown> {
  const records = models.flatMap(({ topics }, partition) =>
    [...topics.values()].map((topic) => recordOf(topic, found, partition)),
  );
  return new Map(records.map((record) => [record.topic_id, record]));
}

async function storedTopics({ db }: Found): Promise<Map<string, unknown>> {
  const records = db
    .collection("svc_api_notif_mgmt_topic")
    .find({}, { projection: { _id: 0, ...unforeseen } });
  return new Map((await records.toArray()).map((record) => [String(record["topic_id"]), record]));
}

function expectedRetired({ models }: Oracle, found: Found): Map<string, unknown> {
  return new Map(
    models.flatMap(({ retired }, partition) =>
      retired.map(({ topic, offset }): [string, unknown] => [
        `${found.topic}-${partition}-${offset}`,
        {
          ...recordOf(topic, found, partition),
          retired_by: announced(found.topic, partition, offset),
        },
      ]),
    ),
  );
}

async function storedRetired({ db }: Found): Promise<Map<string, unknown>> {
  const records = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic_retired");
  const projection = { ...unforeseen, retired_on: 0, sys_id: 0 };
  const all = await records.find({}, { projection }).toArray();
  return new Map(all.map(({ _id, ...record }) => [_id, record]));
}

const expectedPositions = ({ ends, newest }: Found): Map<string, unknown> =>
  new Map(
    [...ends]
      .filter(([, end]) => end > 0)
      .map(([partition, end]) => {
        const on = new Date(newest.get(partition) ?? NaN);
        return [String(partition), { next_offset: end, newest_record: { on, before: end } }];
      }),
  );

async function storedPositions({ db, group, topic }: Found): Promise<Map<string, unknown>> {
  const positions = db.collection<{ _id: { group: string; topic: string; partition: number } }>(
    "topicsync_positions",
  );
  const found = await positions
    .find(
      { "_id.group": group, "_id.topic": topic },
      { projection: { updated_on: 0, sessions: 0, moved_by: 0 } },
    )
    .toArray();
  const moved = found.filter((position) => "next_offset" in position);
  return new Map(moved.map(({ _id, ...position }) => [String(_id.partition), position]));
}

/** At least one letter for each refusal, as it has to be, and none for anything else. */
function compareLetters(oracle: Oracle, { topic, letters }: Found): string[] {
  const missing = new Map(oracle.letters);
  const wrong = letters.flatMap((letter) => {
    const { headers, offset } = letter;
    const id = (headers["topicsync.id"] ?? "").replace(`${topic}-`, "");
    const expected = oracle.letters.get(id);
    missing.delete(id);
    if (expected === undefined) {
      return [
        `dead letter ${offset}: ${headers["topicsync.id"] ?? "no id"} should not have been refused (${headers["topicsync.code"] ?? "no code"})`,
      ];
    }
    return faultsOf(letter, expected, id).map(
      (fault) => `dead letter ${offset} of ${id} (${expected.move}): ${fault}`,
    );
  });
  return [
    ...wrong,
    ...[...missing].map(([id, { code, move }]) => `dead letter of ${id} (${move}) is missing: ${code}`),
  ];
}

function faultsOf(letter: LogEntry, expected: ExpectedLetter, id: string): string[] {
  const { headers } = letter;
  const faults: string[] = [];
  if (headers["topicsync.code"] !== expected.code)
    faults.push(`expected ${expected.code}, found ${headers["topicsync.code"] ?? "no code"}`);
  if (id !== `${headers["__connect.errors.partition"] ?? ""}-${headers["__connect.errors.offset"] ?? ""}`)
    faults.push("its headers contradict each other about where the record lies");
  // What is too large for the dead-letter topic is kept as a reference to where it lies.
  const isReference = expected.code === "TOO_LARGE" && "topicsync.omitted" in headers;
  const original = "topicsync.keyless" in headers ? { ...letter, key: null } : letter;
  if (!isReference && digestOf(original) !== expected.digest) faults.push("it is not the record as it came");
  return faults;
}
