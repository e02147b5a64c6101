import type { Audit } from "../lib/audit.ts";
import type { AnnouncementSource, Topic } from "./topic.ts";
import type { TopicWrites } from "./snapshot.ts";

/** Records what announcements did to the topics. What came over HTTP is recorded there, with the caller's address. */
export function auditAnnouncements(audit: Audit, writes: Partial<TopicWrites>): void {
  if (!audit.on) return;
  const { created = [], updated = [], retired = [], removed = [] } = writes;
  // A topic that only made room for others and came back has the same sys_id in both.
  const back = new Set(removed.map(({ id }) => id));

  function record(action: "created" | "changed" | "retired", topic: Topic, source: Topic["source"]): void {
    if (source.kind !== "announcement") return;
    const { externalId, id } = topic;
    audit.record({ action: `topic.${action}`, externalId, id }, originOf(source));
  }

  for (const { topic, retiredBy } of retired) record("retired", topic, retiredBy);
  for (const topic of updated) record("changed", topic, topic.source);
  for (const topic of created) record(back.has(topic.id) ? "changed" : "created", topic, topic.source);
}

const originOf = ({ topic, partition, offset }: AnnouncementSource) =>
  ({ via: "channel", by: "announcements", from: `${topic}-${partition}-${offset}` }) as const;
