import type { Audit, AuditEntry, AuditEvent } from "@topicsync/lib/audit/audit";
import { formatRecordPosition } from "@topicsync/kafka";
import type { TopicWrites } from "./snapshot.ts";
import type { Topic } from "./topic.ts";

type TopicAction = "created" | "changed" | "described" | "retired" | "disabled" | "enabled";

/** The audit event of a change to a topic. */
export const toTopicEvent = (
  action: TopicAction,
  { externalId, id }: Pick<Topic, "externalId" | "id">,
): AuditEvent => ({
  action: `topic.${action}`,
  externalId,
  id,
});

/** Records what announcements changed. HTTP and the command line record their own changes. */
export function auditAnnouncements(audit: Audit, writes: Partial<TopicWrites>): void {
  if (!audit.on) return;
  const { created = [], updated = [], retired = [], removed = [] } = writes;

  const entries: AuditEntry[] = [];
  function add(action: TopicAction, topic: Topic, source: Topic["source"]): void {
    if (source.kind !== "announcement") return;
    entries.push({
      event: toTopicEvent(action, topic),
      origin: { via: "channel", by: "announcements", from: formatRecordPosition(source) },
    });
  }

  // A topic that was removed only to make room for another is inserted again under the same sys_id.
  const reinserted = new Set(removed.map(({ id }) => id));
  for (const { topic, retiredBy } of retired) add("retired", topic, retiredBy);
  for (const topic of updated) add("changed", topic, topic.source);
  for (const topic of created) add(reinserted.has(topic.id) ? "changed" : "created", topic, topic.source);
  audit.recordAll(entries);
}
