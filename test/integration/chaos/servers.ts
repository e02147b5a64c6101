import { join, resolve } from "node:path";

import { startStore } from "@topicsync/embedded";
import { readConfig } from "../../../src/config/config.ts";
import { getPort } from "../../support/local.ts";

/** A server that can be killed. */
export interface Restartable {
  /** Sends SIGKILL. A container is stopped instead, because its process belongs to the engine. */
  kill(): Promise<void>;
  /** Starts it again with the same data and port. */
  start(): Promise<void>;
}

/** A store that can be killed. */
export interface Store extends Restartable {
  readonly description: string;
  readonly address: string;
  /** Stops it and removes data outside the folder. */
  remove(): Promise<void>;
}

export async function startChaosStore(folder: string): Promise<Store> {
  // Only the settings that select the stack; others must not reach it.
  const environment = Object.entries(process.env).filter(([name]) => name.startsWith("TOPICSYNC_"));
  const { stack } = readConfig(Object.fromEntries(environment));
  const toolsFolder = resolve(import.meta.dirname, "../../../.topicsync/tools");
  const options = { ...stack, dataFolder: join(folder, "store"), toolsFolder, report: () => undefined };
  let running = await startStore(options);
  const { description, address } = running;

  return {
    description,
    address,
    async kill() {
      if (running.pid === undefined) return running.stop();
      process.kill(running.pid, "SIGKILL");
      await running.ended;
    },
    async start() {
      running = await startStore({ ...options, port: getPort(address) });
    },
    async remove() {
      await running.stop();
      await running.removeData?.();
    },
  };
}
