import type { Audit, AuditEvent } from "../lib/audit.ts";
import { formatRecordPosition } from "../sync/records.ts";
import type { TopicWrites } from "./snapshot.ts";
import type { Topic } from "./topic.ts";

export type TopicAction = "created" | "changed" | "retired" | "disabled" | "enabled";

/** The audit event of a change to a topic. */
export const toTopicEvent = (action: TopicAction, { externalId, id }: Topic): AuditEvent => ({
  action: `topic.${action}`,
  externalId,
  id,
});

/** Records what announcements changed. HTTP and the command line record their own changes. */
export function auditAnnouncements(audit: Audit, writes: Partial<TopicWrites>): void {
  if (!audit.on) return;
  const { created = [], updated = [], retired = [], removed = [] } = writes;

  function record(action: TopicAction, topic: Topic, source: Topic["source"]): void {
    if (source.kind !== "announcement") return;
    const origin = { via: "channel", by: "announcements", from: formatRecordPosition(source) } as const;
    audit.record(toTopicEvent(action, topic), origin);
  }

  // A topic that was removed only to make room for another is inserted again under the same sys_id.
  const reinserted = new Set(removed.map(({ id }) => id));
  for (const { topic, retiredBy } of retired) record("retired", topic, retiredBy);
  for (const topic of updated) record("changed", topic, topic.source);
  for (const topic of created) record(reinserted.has(topic.id) ? "changed" : "created", topic, topic.source);
}
