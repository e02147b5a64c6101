import { newId } from "@topicsync/lib/sys-id";
import { toTopicRecord, type TopicRecord } from "../../src/storage/topics/records.ts";

/** The record of a topic that was stored before filters were validated. */
export function createTopicRecord(definition: {
  readonly externalId: string;
  readonly headerQuery?: string;
  readonly contentQuery?: string;
}): TopicRecord {
  const now = new Date();
  return toTopicRecord({
    id: newId(),
    name: `name of ${definition.externalId}`,
    namespace: "space",
    headerQuery: "",
    contentQuery: "",
    source: { kind: "http", user: "somebody" },
    version: 1,
    createdOn: now,
    updatedOn: now,
    ...definition,
  });
}
