import type { ImpactResult } from "../../../schemas/impact.ts";
import type { PlannedChange } from "../../plans/plan.ts";
import type { CommandContext } from "../context.ts";

export interface PreviewOptions {
  /** How many of the last events are read; undefined: the usual number. */
  readonly last?: number;
  readonly examples: number;
}

/** Counts what changes of filters do to the last events. */
export type PreviewChanges = (
  changes: readonly PlannedChange[],
  options: PreviewOptions,
) => Promise<ImpactResult>;

/** Reads the events from Kafka. */
export const createLocalPreview =
  (context: CommandContext): PreviewChanges =>
  async (changes, options) => {
    const { compareChanges } = await import("./topic-impact.ts");
    const compared = changes.map(({ externalId, before, after }) => ({
      externalId: after?.externalId ?? externalId,
      before: before?.definition,
      after: after?.definition,
    }));
    return compareChanges(context, compared, options);
  };
