import { join, resolve } from "node:path";

import { readConfig } from "../../../src/config.ts";
import { startBroker, startStore, type ResolveOptions } from "../../../src/embedded/resolve.ts";
import type { Running } from "../../../src/embedded/stack.ts";
import { getPort } from "../../unit/embedded/local.ts";

/** A broker or a store that can be killed. */
export interface Server {
  readonly description: string;
  readonly address: string;
  /** Sends SIGKILL. A container is stopped instead, because its process belongs to the engine. */
  kill(): Promise<void>;
  /** Restarts it with the same data and port. */
  restart(): Promise<void>;
  /** Stops it and removes data outside the folder. */
  remove(): Promise<void>;
}

export const startChaosBroker = (folder: string): Promise<Server> =>
  start(startBroker, join(folder, "broker"));

export const startChaosStore = (folder: string): Promise<Server> => start(startStore, join(folder, "store"));

async function start(
  launch: (options: ResolveOptions) => Promise<Running>,
  dataFolder: string,
): Promise<Server> {
  // Only the settings that select the stack; others must not reach it.
  const environment = Object.entries(process.env).filter(([name]) => name.startsWith("TOPICSYNC_"));
  const { stack } = readConfig(Object.fromEntries(environment));
  const toolsFolder = resolve(import.meta.dirname, "../../../.topicsync/tools");
  const options = { ...stack, dataFolder, toolsFolder, report: () => undefined };
  let running = await launch(options);
  const { description, address } = running;

  return {
    description,
    address,
    async kill() {
      if (running.pid === undefined) return running.stop();
      process.kill(running.pid, "SIGKILL");
      await running.ended;
    },
    async restart() {
      running = await launch({ ...options, port: getPort(address) });
    },
    async remove() {
      await running.stop();
      await running.removeData?.();
    },
  };
}
