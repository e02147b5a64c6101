import { join, resolve } from "node:path";

import { readConfig } from "../../../src/config.ts";
import { startBroker, startStore, type ResolveOptions } from "../../../src/embedded/resolve.ts";
import type { Running } from "../../../src/embedded/stack.ts";
import { portOf } from "../../unit/embedded/local.ts";

/** A broker or a store that can be killed. */
export interface Server {
  readonly description: string;
  readonly address: string;
  /** Ends it by SIGKILL. A container, whose process is the engine's, is stopped instead. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
  /** Ends it for good, and removes the data that are not in the folder. */
  remove(): Promise<void>;
}

/** Starts a broker with its data in the folder. */
export const startChaosBroker = (folder: string): Promise<Server> =>
  start(startBroker, join(folder, "broker"));

/** Starts a store with its data in the folder. */
export const startChaosStore = (folder: string): Promise<Server> => start(startStore, join(folder, "store"));

async function start(
  launch: (options: ResolveOptions) => Promise<Running>,
  dataFolder: string,
): Promise<Server> {
  // The same kind of stack as that of the tests, whatever else is set.
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
      running = await launch({ ...options, port: portOf(address) });
    },
    async remove() {
      await running.stop();
      await running.removeData?.();
    },
  };
}
