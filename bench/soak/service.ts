import { startProcess, type ServerProcess } from "../../src/embedded/process.ts";
import { httpService } from "../http/contestants.ts";
import { freeAddress, untilServing } from "../http/serving.ts";
import type { Arena } from "../support/stack.ts";

/** The service, which can be killed and comes again on the same port. */
export interface MortalService extends AsyncDisposable {
  readonly url: URL;
  pid(): number;
  /** Rejects, with its last output, when it ends of its own accord; never resolves. */
  readonly died: Promise<never>;
  /**
   * Kills it with SIGKILL, starts it again, and waits until it accepts registrations. Gives how long that
   * took, in milliseconds.
   */
  killAndRestart(): Promise<number>;
}

/** Starts the service. Throws its last output when it does not come up. */
export async function startMortal(arena: Arena): Promise<MortalService> {
  const { url, port } = await freeAddress();
  const died = Promise.withResolvers<never>();
  // Nobody may be looking when it dies.
  died.promise.catch(() => undefined);
  let wanted = true;

  async function start(): Promise<ServerProcess> {
    wanted = true;
    const started = await startProcess(await httpService.command(arena, port));
    void started.ended.then(async (how) => {
      if (wanted) died.reject(new Error(`the service ended: ${how}. ${await started.lastOutput()}`));
    });
    await Promise.race([untilServing(httpService, url, started), died.promise]);
    return started;
  }

  async function end(): Promise<void> {
    wanted = false;
    await running.stop();
  }

  let running = await start();
  return {
    url,
    pid: () => running.pid,
    died: died.promise,
    async killAndRestart() {
      const before = performance.now();
      wanted = false;
      process.kill(running.pid, "SIGKILL");
      await running.ended;
      running = await start();
      return performance.now() - before;
    },
    [Symbol.asyncDispose]: end,
  };
}
