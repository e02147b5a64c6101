import { readEnvironment } from "../../config/config.ts";
import type { CommandContext, RunOptions } from "../context.ts";
import type { OperationClient } from "./operation-client.ts";
import { findServer, type ServerFlag } from "../input/server.ts";
import { runUntilStopped } from "../until-stopped.ts";

/**
 * Runs a command with the service that the flags or TOPICSYNC_SERVER name, as the user of TOPICSYNC_TOKEN, or
 * TOPICSYNC_USER and TOPICSYNC_PASSWORD; without a service in this process, as the user of the machine, and
 * with the context of the command.
 */
export async function runWithClient<T>(
  flags: ServerFlag,
  work: (client: OperationClient, context?: CommandContext) => Promise<T>,
  options?: RunOptions,
): Promise<T> {
  const environment = readEnvironment(process.env);
  const server = findServer(flags, environment);
  if (server !== undefined) {
    const { createServerClient } = await import("./server.ts");
    return runUntilStopped((abort) => work(createServerClient(server, environment, abort)));
  }
  const [{ runWithContext }, { createLocalClient }] = await Promise.all([
    import("../context.ts"),
    import("./local.ts"),
  ]);
  return runWithContext((context) => work(createLocalClient(context), context), options);
}
