import { readEnvironment } from "../../config/config.ts";
import { createEgressNamingFromConfig } from "../../service/egress-naming.ts";
import type { EgressNaming } from "../../kafka/interface/egress-naming.ts";
import { runWithClient } from "../client/client.ts";
import { createLocalClient } from "../client/local.ts";
import { getCommandLineUser, runWithContext } from "../context.ts";
import { findServer, type ServerFlag } from "../input/server.ts";
import { connectPlans, type PlanConnection } from "./plan-connection.ts";
import { createLocalPreview } from "./plan-preview.ts";

/** What plans are made from and applied to. */
export interface PlanTarget extends PlanConnection {
  readonly user: string;
  /** Undefined: unknown, or no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
  readonly abort: AbortSignal;
}

/** Runs a command with the server that the flags or TOPICSYNC_SERVER name, else with the database. */
export async function runWithTarget(
  { server }: ServerFlag,
  work: (target: PlanTarget) => Promise<void>,
): Promise<void> {
  const user = getCommandLineUser();
  if (findServer({ server }, readEnvironment(process.env)) !== undefined) {
    await runWithClient({ server }, async (client) =>
      work({ ...(await connectPlans(client)), user, egressNaming: undefined, abort: client.abort }),
    );
    return;
  }
  await runWithContext(async (context) =>
    work({
      ...(await connectPlans(createLocalClient(context))),
      // Unlike a service, it may read any number of events, and shows how far it is.
      preview: createLocalPreview(context),
      ...{ user, abort: context.abort },
      egressNaming: createEgressNamingFromConfig(context.config.kafka),
    }),
  );
}
