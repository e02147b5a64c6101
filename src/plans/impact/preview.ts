import type { AuditEvent } from "@topicsync/lib/audit/audit";
import type { ImpactResult } from "../../../schemas/impact.ts";
import type { ImpactChange } from "./changes.ts";
import type { EventSelection } from "./selection.ts";

/** What is previewed. */
export interface ImpactJob {
  readonly changes: readonly ImpactChange[];
  readonly selection: EventSelection;
  readonly maxExamples: number;
}

/** How far a preview is: the number of offsets that were read, and of those to be read. */
export interface ImpactProgress {
  readonly done: number;
  readonly total: number;
}

export interface PreviewListener {
  readonly onProgress: (progress: ImpactProgress) => void;
  /** Stops the preview, which then throws UnavailableError. */
  readonly abort: AbortSignal;
}

/** Previews changes over the events topic, within limits of time and memory and without delaying others. */
export interface ImpactPreview {
  /**
   * Throws OverloadedError at once while another preview runs. Rejects with a RejectionError for offsets that
   * Kafka does not have or too many of them, ConfigurationError for a missing right, and UnavailableError.
   */
  start(job: ImpactJob, listener: PreviewListener): Promise<ImpactResult>;
}

const maxAuditedTopics = 100;

/** The audit event of a preview: its counts tell what events contain, also without examples. */
export const toReadEvent = ({ changes }: Pick<ImpactJob, "changes">): AuditEvent => ({
  action: "events.read",
  topics: changes.slice(0, maxAuditedTopics).map(({ externalId }) => externalId),
});
