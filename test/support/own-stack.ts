import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { startBroker, startStore, type Running, type RunningBroker } from "@topicsync/embedded";
import { readConfig } from "../../src/config/config.ts";
import { getPort, toolsFolder } from "./local.ts";

/** A server that only this test uses, so that it can stop and restart it. */
export interface Restartable<R extends Running> {
  readonly address: string;
  readonly running: () => R;
  stop(): Promise<void>;
  /** Starts it again with the same data and port. */
  start(): Promise<void>;
}

/** Starts a broker for this file only. */
export const startOwnBroker = (): Promise<Restartable<RunningBroker>> =>
  startRestartable("broker", startBroker);

/** Starts a store for this file only. */
export const startOwnStore = (): Promise<Restartable<Running>> => startRestartable("store", startStore);

/** The settings that choose the same kind of stack as the shared one. */
const pickStackSettings = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith("TOPICSYNC_")));

async function startRestartable<R extends Running>(
  name: string,
  start: (options: Parameters<typeof startBroker>[0]) => Promise<R>,
): Promise<Restartable<R>> {
  const dataFolder = mkdtempSync(join(tmpdir(), `topicsync-${name}-`));
  const { stack } = readConfig(pickStackSettings(process.env));
  const options = { ...stack, dataFolder, toolsFolder, report: () => undefined };
  let running = await start(options);
  const { address } = running;
  const port = getPort(address);
  after(async () => {
    await running.stop();
    await running.removeData?.();
    rmSync(dataFolder, { recursive: true, force: true });
  });
  return {
    address,
    running: () => running,
    stop: () => running.stop(),
    async start() {
      running = await start({ ...options, port });
    },
  };
}
