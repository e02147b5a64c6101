import { isDeepStrictEqual } from "node:util";

import type { Db } from "mongodb";

import type { Model, ModelTopic } from "../../unit/topics/model.ts";
import { digestRecord, type ExpectedLetter, type Oracle } from "./oracle.ts";
import type { LogEntry } from "./log.ts";

/** The final state, and the names to look it up by. */
export interface Found {
  readonly db: Db;
  readonly topic: string;
  readonly group: string;
  /** The user who created the topics over HTTP. */
  readonly user: string;
  /** The log end offset by partition. */
  readonly ends: ReadonlyMap<number, number>;
  readonly letters: readonly LogEntry[];
}

/** Describes every difference between the final state and the oracle. */
export async function findDifferences(oracle: Oracle, found: Found): Promise<string[]> {
  return [
    ...compareMaps("topic", predictTopics(oracle, found), await readTopics(found)),
    ...compareMaps("replaced version", predictVersions(oracle, found), await readVersions(found)),
    ...compareMaps("retired topic", predictRetired(oracle, found), await readRetired(found)),
    ...compareMaps("position", predictPositions(found), await readPositions(found)),
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
    return [`${what} ${key}: expected ${format(should)}, found ${format(is)}`];
  });
}

const format = (value: unknown): string =>
  value === undefined ? "none" : JSON.stringify(value).slice(0, 400);

/** A topic's record without its sys_id and its times, which cannot be predicted. */
const toTopicRecord = (topic: ModelTopic, found: Found, partition: number) => ({
  topic_id: topic.externalId,
  ...toDefinition(topic),
  user_created: false,
  type: "egress",
  source: toSource(topic, found, partition),
  ...(topic.previous && {
    previous: { ...toDefinition(topic.previous), source: toSource(topic.previous, found, partition) },
  }),
});

const toDefinition = ({ name, namespace, headerQuery, contentQuery }: ModelTopic) => ({
  topic_name: name,
  namespace,
  header_query: headerQuery,
  content_query: contentQuery,
});

const unpredictable = { sys_created_on: 0, sys_updated_on: 0, "previous.sys_updated_on": 0 } as const;

const toAnnouncementSource = (topic: string, partition: number, offset: number) => ({
  kind: "announcement",
  topic,
  partition,
  offset,
});

const toSource = ({ owner, offset }: ModelTopic, { topic, user }: Found, partition: number): object =>
  owner === "http" ? { kind: "http", user } : toAnnouncementSource(topic, partition, offset);

/** The version that a topic had before an offset: absent for the first. Tombstones begin another topic. */
function createCounter({ replaced, retired }: Model) {
  const changes = Map.groupBy(replaced, ({ topic }) => topic.externalId);
  const ends = Map.groupBy(retired, ({ topic }) => topic.externalId);
  return (externalId: string, before = Infinity): { readonly version?: number } => {
    const former = (ends.get(externalId) ?? []).map(({ offset }) => offset);
    const start = Math.max(-1, ...former.filter((offset) => offset < before));
    const all = changes.get(externalId) ?? [];
    const count = all.filter(({ offset }) => offset > start && offset < before).length;
    return count === 0 ? {} : { version: count + 1 };
  };
}

function predictTopics({ models }: Oracle, found: Found): Map<string, unknown> {
  const records = models.flatMap((model, partition) => {
    const countVersions = createCounter(model);
    return [...model.topics.values()].map((topic) => ({
      ...toTopicRecord(topic, found, partition),
      ...countVersions(topic.externalId),
    }));
  });
  return new Map(records.map((record) => [record.topic_id, record]));
}

async function readTopics({ db }: Found): Promise<Map<string, unknown>> {
  const records = db
    .collection("svc_api_notif_mgmt_topic")
    .find({}, { projection: { _id: 0, ...unpredictable } });
  return new Map((await records.toArray()).map((record) => [String(record["topic_id"]), record]));
}

/** The fold of the log: what each announcement has replaced, by its place in the log. */
function predictVersions({ models }: Oracle, found: Found): Map<string, unknown> {
  return new Map(
    models.flatMap((model, partition) => {
      const countVersions = createCounter(model);
      return model.replaced.map(({ topic, offset, action }): [string, unknown] => [
        `${partition}-${offset}`,
        {
          topic_id: topic.externalId,
          version: countVersions(topic.externalId, offset).version ?? 1,
          ...toDefinition(topic),
          source: toSource(topic, found, partition),
          ended_by: toAnnouncementSource(found.topic, partition, offset),
          action,
        },
      ]);
    }),
  );
}

async function readVersions({ db }: Found): Promise<Map<string, unknown>> {
  const records = db.collection<{
    ended_by: { partition: number; offset: number };
  }>("topicsync_topic_versions");
  const unknown = { _id: 0, sys_id: 0, valid_from: 0, valid_to: 0, sys_created_on: 0 };
  const projection = { ...unknown, is_transient: 0 };
  const all = await records.find({}, { projection }).toArray();
  return new Map(
    all.map((record) => {
      const { partition, offset } = record.ended_by;
      return [`${partition}-${offset}`, record];
    }),
  );
}

function predictRetired({ models }: Oracle, found: Found): Map<string, unknown> {
  return new Map(
    models.flatMap((model, partition) => {
      const countVersions = createCounter(model);
      return model.retired.map(({ topic, offset }): [string, unknown] => [
        `${found.topic}-${partition}-${offset}`,
        {
          ...toTopicRecord(topic, found, partition),
          version: countVersions(topic.externalId, offset).version ?? 1,
          retired_by: toAnnouncementSource(found.topic, partition, offset),
        },
      ]);
    }),
  );
}

async function readRetired({ db }: Found): Promise<Map<string, unknown>> {
  const records = db.collection<{ _id: string }>("svc_api_notif_mgmt_topic_retired");
  const projection = { ...unpredictable, retired_on: 0, sys_id: 0 };
  const all = await records.find({}, { projection }).toArray();
  return new Map(all.map(({ _id, ...record }) => [_id, record]));
}

const predictPositions = ({ ends }: Found): Map<string, unknown> =>
  new Map(
    [...ends]
      .filter(([, end]) => end > 0)
      .map(([partition, end]) => [String(partition), { next_offset: end }]),
  );

async function readPositions({ db, group, topic }: Found): Promise<Map<string, unknown>> {
  const positions = db.collection<{ _id: { group: string; topic: string; partition: number } }>(
    "topicsync_positions",
  );
  const found = await positions
    .find(
      { "_id.group": group, "_id.topic": topic },
      {
        projection: {
          updated_on: 0,
          sessions: 0,
          moved_by: 0,
          claim: 0,
          kafka_topic_id: 0,
          kafka_cluster_id: 0,
        },
      },
    )
    .toArray();
  const moved = found.filter((position) => "next_offset" in position);
  return new Map(moved.map(({ _id, ...position }) => [String(_id.partition), position]));
}

/** Each rejection has at least one correct dead letter, and nothing else has one. */
function compareLetters(oracle: Oracle, { topic, letters }: Found): string[] {
  const missing = new Map(oracle.letters);
  const wrong = letters.flatMap((letter) => {
    const { headers, offset } = letter;
    const id = (headers["topicsync.id"] ?? "").replace(`${topic}-`, "");
    const expected = oracle.letters.get(id);
    missing.delete(id);
    if (expected === undefined) {
      return [
        `dead letter ${offset}: ${headers["topicsync.id"] ?? "no id"} should not have been rejected (${headers["topicsync.code"] ?? "no code"})`,
      ];
    }
    return findLetterFaults(letter, expected, id).map(
      (fault) => `dead letter ${offset} of ${id} (${expected.move}): ${fault}`,
    );
  });
  return [
    ...wrong,
    ...[...missing].map(([id, { code, move }]) => `dead letter of ${id} (${move}) is missing: ${code}`),
  ];
}

/** Describes the differences of a dead letter from its original record. */
export function findLetterFaults(letter: LogEntry, expected: ExpectedLetter, id: string): string[] {
  const { headers } = letter;
  const faults: string[] = [];
  if (headers["topicsync.code"] !== expected.code)
    faults.push(`expected ${expected.code}, found ${headers["topicsync.code"] ?? "no code"}`);
  if (id !== `${headers["__connect.errors.partition"] ?? ""}-${headers["__connect.errors.offset"] ?? ""}`)
    faults.push("its headers contradict each other about the record's partition and offset");
  // A record too large for the dead-letter topic is kept as a reference.
  const isReference = expected.code === "TOO_LARGE" && "topicsync.omitted" in headers;
  const original = "topicsync.keyless" in headers ? { ...letter, key: null } : letter;
  if (!isReference && digestRecord(original) !== expected.digest)
    faults.push("it differs from the original record");
  return faults;
}
