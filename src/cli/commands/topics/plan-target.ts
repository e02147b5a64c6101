import type { EgressNaming } from "@topicsync/kafka";
import { createEgressNamingFromConfig } from "../../../service/egress-naming.ts";
import { runWithClient } from "../../client/client.ts";
import { getCommandLineUser } from "../../context.ts";
import type { ServerFlag } from "../../input/server.ts";
import type { PreviewPlace } from "./impact-preview.ts";
import { connectPlans, type PlanConnection } from "./plan-connection.ts";

/** What plans are made from and applied to. */
export interface PlanTarget extends PlanConnection {
  readonly user: string;
  readonly events: PreviewPlace;
  /** Undefined: unknown, or no router is configured. */
  readonly egressNaming: EgressNaming | undefined;
  readonly abort: AbortSignal;
}

/** Runs a command with the server that the flags or TOPICSYNC_SERVER name, else with the database. */
export const runWithTarget = (
  flags: ServerFlag,
  work: (target: PlanTarget) => Promise<void>,
): Promise<void> =>
  runWithClient(flags, async (client, context) =>
    work({
      ...(await connectPlans(client)),
      user: getCommandLineUser(),
      events: { client, context },
      egressNaming: context && createEgressNamingFromConfig(context.config.kafka),
      abort: client.abort,
    }),
  );
