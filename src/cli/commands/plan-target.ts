import { createEgressNamingFromConfig } from "../../service/egress-naming.ts";
import type { AuditEvent } from "../../lib/audit.ts";
import type { EgressNaming } from "../../kafka/interface/egress-naming.ts";
import type { ApplyChanges } from "../../plans/apply.ts";
import type { PlanSource } from "../../plans/stores.ts";
import { getCommandLineUser, runWithContext } from "../context.ts";
import { createLocalPreview, type PreviewChanges } from "./plan-preview.ts";
import { connectToServer } from "./plan-server.ts";

/** What plans are made from and applied to: the database, or a server. */
export interface PlanTarget {
  readonly source: PlanSource;
  readonly apply: ApplyChanges;
  readonly user: string;
  /** Undefined: unknown, or no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
  /** Records changes; a server does that itself. */
  readonly record: (events: readonly AuditEvent[]) => void;
  readonly abort: AbortSignal;
  readonly preview: PreviewChanges;
}

/** Runs a command with the database, or with a server if there is a URL. */
export async function runWithTarget(
  { server, changes }: { readonly server?: string | undefined; readonly changes: boolean },
  work: (target: PlanTarget) => Promise<void>,
): Promise<void> {
  await runWithContext(async (context) => {
    const { config, services, audit, abort } = context;
    const user = getCommandLineUser();
    if (server !== undefined) {
      const remote = await connectToServer(server, abort);
      const local = { egressNaming: undefined, record: () => undefined };
      await work({ ...remote, ...local, user, abort });
      return;
    }
    const record = changes ? audit() : undefined;
    const { planSource, applyChanges } = await services();
    const egressNaming = createEgressNamingFromConfig(config.kafka);
    await work({
      ...{ source: planSource, apply: applyChanges, user, abort, egressNaming },
      preview: createLocalPreview(context),
      record: (events) => {
        for (const event of events) record?.(event);
      },
    });
  });
}
