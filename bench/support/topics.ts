import type { Db } from "mongodb";

import { newId } from "@topicsync/lib/sys-id";
import type { TopicBody } from "../../schemas/topics/topic.ts";
import { collections } from "../../src/storage/names.ts";
import { toTopicRecord, type TopicRecord } from "../../src/storage/topics/records.ts";
import { toDefinition, type Topic } from "../../src/topics/topic.ts";
import { reportProgress } from "./report.ts";

const topicsPerInsertion = 2_000;

/** Stores topics as the service stores announced ones, but without announcements. */
export async function insertTopics(db: Db, bodies: Iterable<TopicBody>): Promise<void> {
  const topics = db.collection<TopicRecord>(collections.topics);
  let stored = 0;
  let records: TopicRecord[] = [];

  async function insert(): Promise<void> {
    if (records.length === 0) return;
    await topics.insertMany(records, { ordered: false });
    stored += records.length;
    records = [];
    if (stored % 100_000 === 0) reportProgress(`${stored} topics stored`);
  }

  for (const body of bodies) {
    records.push(toTopicRecord(createTopic(body, stored + records.length)));
    if (records.length === topicsPerInsertion) await insert();
  }
  await insert();
}

/** Long ago: a service whose store has no change streams reads again what was updated in the last minutes. */
const ageMs = 60 * 60 * 1_000;

function createTopic(body: TopicBody, number: number): Topic {
  const updatedOn = new Date(Date.now() - ageMs);
  return {
    ...toDefinition(body),
    id: newId(),
    source: { kind: "announcement", topic: "bench.topics", partition: 0, offset: number },
    version: 1,
    createdOn: updatedOn,
    updatedOn,
  };
}
