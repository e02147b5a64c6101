import { newId } from "../../src/lib/sys-id.ts";
import { toTopicRecord, type TopicRecord } from "../../src/storage/topic-records.ts";

/** The record of a topic, as one is stored that came before filters were checked. */
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
    createdOn: now,
    updatedOn: now,
    ...definition,
  });
}
