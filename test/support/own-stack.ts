import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { startBroker, startStore, type Running } from "@topicsync/embedded";
import { readConfig } from "../../src/config/config.ts";
import { getPort, toolsFolder } from "./local.ts";

/** A server that only this test uses, so that it can stop and restart it. */
export interface Restartable {
  readonly address: string;
  readonly running: () => Running;
  stop(): Promise<void>;
  /** Starts it again with the same data and port. */
  start(): Promise<void>;
}

/** Starts a broker for this file only. */
export const startOwnBroker = (): Promise<Restartable> => startRestartable("broker", startBroker);

/** Starts a store for this file only. */
export const startOwnStore = (): Promise<Restartable> => startRestartable("store", startStore);

/** The settings that choose the same kind of stack as the shared one. */
const pickStackSettings = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith("TOPICSYNC_")));

async function startRestartable(
  name: string,
  start: (options: Parameters<typeof startBroker>[0]) => Promise<Running>,
): Promise<Restartable> {
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
