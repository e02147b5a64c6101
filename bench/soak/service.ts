import { startProcess, type ServerProcess } from "@topicsync/embedded";
import { httpService } from "../http/contestants.ts";
import { findFreeAddress, waitUntilServing } from "../http/serving.ts";
import type { Workspace } from "../support/stack.ts";

export interface RestartableService extends AsyncDisposable {
  readonly url: URL;
  pid(): number;
  /** Rejects with the last output if the service exits without being told to; never resolves. */
  readonly unexpectedExit: Promise<never>;
  /** Sends SIGKILL, restarts the service on the same port, and returns its downtime in ms. */
  killAndRestart(): Promise<number>;
}

/** Throws the last output if the service does not start. */
export async function startRestartable(workspace: Workspace): Promise<RestartableService> {
  const { url, port } = await findFreeAddress();
  const unexpectedExit = Promise.withResolvers<never>();
  // It may reject when nobody awaits it.
  unexpectedExit.promise.catch(() => undefined);
  let isExpected = true;

  async function start(): Promise<ServerProcess> {
    isExpected = true;
    const started = await startProcess(await httpService.command(workspace, port));
    void started.ended.then(async (how) => {
      if (isExpected)
        unexpectedExit.reject(new Error(`the service ended: ${how}. ${await started.readLastOutput()}`));
    });
    await Promise.race([waitUntilServing(httpService, url, started), unexpectedExit.promise]);
    return started;
  }

  async function stop(): Promise<void> {
    isExpected = false;
    await running.stop();
  }

  let running = await start();
  return {
    url,
    pid: () => running.pid,
    unexpectedExit: unexpectedExit.promise,
    async killAndRestart() {
      const before = performance.now();
      isExpected = false;
      process.kill(running.pid, "SIGKILL");
      await running.ended;
      running = await start();
      return performance.now() - before;
    },
    [Symbol.asyncDispose]: stop,
  };
}
