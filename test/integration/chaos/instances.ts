import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { importCheapHashes } from "../../support/cheap-hashes.ts";

const cli = resolve(import.meta.dirname, "../../../src/cli.ts");

/** A service in its own process. */
export interface Instance {
  readonly name: string;
  frozen: boolean;
  /** Its base URL; undefined until it listens. */
  url(): string | undefined;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Sends SIGTERM; the run fails unless it exits with 0. */
  stop(): Promise<void>;
  /** Sends SIGSTOP. */
  freeze(): void;
  /** Sends SIGCONT. */
  resume(): void;
}

export interface Instances {
  /** Neither killed nor stopped, but possibly frozen. */
  running(): Instance[];
  start(): Instance;
  /** Frozen instances too. */
  killAll(): void;
}

export interface InstancesOptions {
  readonly settings: Readonly<Record<string, string>>;
  /** For one log file per instance. */
  readonly folder: string;
  /** Called when an instance exits unexpectedly. */
  readonly onFailure: (error: Error) => void;
}

export function createInstances({ settings, folder, onFailure: failed }: InstancesOptions): Instances {
  const active = new Set<Instance>();
  const children = new Set<ChildProcess>();
  const killAll = (): void => {
    for (const child of children) child.kill("SIGKILL");
  };
  // The instances must not outlive this process.
  process.once("exit", killAll);
  let started = 0;

  function start(): Instance {
    started += 1;
    const name = `instance-${started}`;
    const logFile = join(folder, `${name}.log`);
    const log = openSync(logFile, "a");
    const child = spawn(process.execPath, [importCheapHashes, cli, "start"], {
      env: { ...inheritedEnvironment(), ...settings, HTTP_PORT: "0", KAFKA_CLIENT_ID: name },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    children.add(child);
    let expected: "run" | "stop" | "die" = "run";
    const ended = once(child, "exit").then(([code, signal]) => {
      children.delete(child);
      active.delete(instance);
      // SIGTERM before the program installs its handler ends it at once.
      const wasEarly = signal === "SIGTERM" && instance.url() === undefined;
      if (expected === "die" || (expected === "stop" && (code === 0 || wasEarly))) return;
      const problem = expected === "stop" ? "did not exit with 0 when stopped" : "exited unexpectedly";
      failed(
        new Error(
          `${name} ${problem}: exit code ${String(code)}, signal ${String(signal)}. Its log is ${logFile}`,
        ),
      );
    });

    const instance: Instance = {
      name,
      frozen: false,
      url: () => /"url":"([^"]+)"/.exec(readFileSync(logFile, "utf8"))?.[1],
      async kill() {
        expected = "die";
        active.delete(instance);
        child.kill("SIGKILL");
        await ended;
      },
      async stop() {
        expected = "stop";
        active.delete(instance);
        child.kill("SIGTERM");
        await ended;
      },
      freeze() {
        instance.frozen = true;
        child.kill("SIGSTOP");
      },
      resume() {
        instance.frozen = false;
        child.kill("SIGCONT");
      },
    };
    active.add(instance);
    return instance;
  }

  return { running: () => [...active], start, killAll: killAll };
}

/** This process's environment without settings of the service. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const ours = /^(HTTP|MONGODB|KAFKA|BOOTSTRAP|PUSH|LOG|TOPICSYNC)_/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
}
