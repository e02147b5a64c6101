import type { AuditEvent } from "../lib/audit.ts";

/** More ids than these are counted, not listed; `topicsync_replays` has them all. */
const maxListed = 100;

/** What the audit has of a replay: how many letters went back to which Kafka topic, and which. */
export const replayedEvent = (to: string, sent: readonly string[]): AuditEvent => ({
  action: "letters.replayed",
  to,
  count: sent.length,
  letters: sent.slice(0, maxListed),
});
