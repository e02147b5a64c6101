import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const cli = resolve(import.meta.dirname, "../../../src/cli.ts");

/** A service in a process of its own. */
export interface Instance {
  readonly name: string;
  /** Whether it was told to stand still. */
  frozen: boolean;
  /** Where it answers; undefined until it says so. */
  url(): string | undefined;
  /** Ends it by SIGKILL. */
  kill(): Promise<void>;
  /** Asks it to end; fails the run when it does not end with 0. */
  stop(): Promise<void>;
  /** Makes it stand still where it is, and go on again. */
  freeze(): void;
  thaw(): void;
}

/** The instances of a run. */
export interface Crew {
  /** Those that were started and neither killed nor stopped. */
  running(): Instance[];
  start(): Instance;
  /** Kills whatever still runs, also what stands still. */
  end(): void;
}

export interface CrewOptions {
  readonly settings: Readonly<Record<string, string>>;
  /** Where the logs go, one file for each instance. */
  readonly folder: string;
  /** Called when an instance ended by itself, or not as it was told to. */
  readonly failed: (error: Error) => void;
}

/** Makes a crew; nobody is started yet. */
export function createCrew({ settings, folder, failed }: CrewOptions): Crew {
  const crew = new Set<Instance>();
  const children = new Set<ChildProcess>();
  const end = (): void => {
    for (const child of children) child.kill("SIGKILL");
  };
  // A crew does not outlive whoever gave it its orders.
  process.once("exit", end);
  let started = 0;

  function start(): Instance {
    started += 1;
    const name = `instance-${started}`;
    const logFile = join(folder, `${name}.log`);
    const log = openSync(logFile, "a");
    const child = spawn(process.execPath, [cli, "start"], {
      env: { ...machine(), ...settings, HTTP_PORT: "0", KAFKA_CLIENT_ID: name },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    children.add(child);
    let told: "run" | "stop" | "die" = "run";
    const ended = once(child, "exit").then(([code, signal]) => {
      children.delete(child);
      crew.delete(instance);
      // A signal that comes before the program has read its first line ends it at once.
      const wasEarly = signal === "SIGTERM" && instance.url() === undefined;
      if (told === "die" || (told === "stop" && (code === 0 || wasEarly))) return;
      const wish = told === "stop" ? "did not end with 0 when it was stopped" : "ended by itself";
      failed(
        new Error(
          `${name} ${wish}: exit code ${String(code)}, signal ${String(signal)}. Its log is ${logFile}`,
        ),
      );
    });

    const instance: Instance = {
      name,
      frozen: false,
      url: () => /"url":"([^"]+)"/.exec(readFileSync(logFile, "utf8"))?.[1],
      async kill() {
        told = "die";
        crew.delete(instance);
        child.kill("SIGKILL");
        await ended;
      },
      async stop() {
        told = "stop";
        crew.delete(instance);
        child.kill("SIGTERM");
        await ended;
      },
      freeze() {
        instance.frozen = true;
        child.kill("SIGSTOP");
      },
      thaw() {
        instance.frozen = false;
        child.kill("SIGCONT");
      },
    };
    crew.add(instance);
    return instance;
  }

  return { running: () => [...crew], start, end };
}

/** The machine's environment without any setting of ours. */
function machine(): NodeJS.ProcessEnv {
  const ours = /^(HTTP|MONGODB|KAFKA|BOOTSTRAP|PUSH|LOG|TOPICSYNC)_/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
}
