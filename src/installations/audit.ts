import { tokenDigest, type Audit } from "../lib/audit.ts";
import type { FeedbackDecision } from "./feedback.ts";

/** Records the tokens that push services reported dead; `topic` is the Kafka topic of the reports. */
export function auditFeedback(audit: Audit, { deactivations }: FeedbackDecision, topic: string): void {
  if (!audit.on) return;
  const origin = { via: "channel", by: "push feedback", from: topic } as const;
  for (const { application, platform, token, reason } of deactivations) {
    audit.record(
      {
        action: "installation.deactivated",
        application,
        platform,
        tokenDigest: tokenDigest(token),
        reason,
      },
      origin,
    );
  }
}
