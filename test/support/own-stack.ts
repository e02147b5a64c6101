import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { readConfig } from "../../src/config.ts";
import { startBroker, startStore } from "../../src/embedded/resolve.ts";
import type { Running, RunningBroker } from "../../src/embedded/stack.ts";
import { getPort, toolsFolder } from "../unit/embedded/local.ts";

/** A server of a test's own, which it may end and start again. */
export interface Restartable<R extends Running> {
  readonly address: string;
  readonly running: () => R;
  stop(): Promise<void>;
  /** Starts it again on the same data and the same port. */
  start(): Promise<void>;
}

/** A broker of this file's own. */
export const startOwnBroker = (): Promise<Restartable<RunningBroker>> =>
  startRestartable("broker", startBroker);

/** A store of this file's own. */
export const startOwnStore = (): Promise<Restartable<Running>> => startRestartable("store", startStore);

/** The same kind of stack as the shared one, whatever else is set. */
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
