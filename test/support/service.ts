import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { after, afterEach, beforeEach } from "node:test";
import { createInterface } from "node:readline";

import { cli, nodeOptions, runHostedCommand, spawnCommand, type CommandEnd } from "./commands.ts";
import { unique } from "./names.ts";
import { addWaitContext, until } from "./poll.ts";
import { keepLog, keepSecret } from "./secrets.ts";

export { cli };

type End = () => unknown;

/** Ends the services that this file has started: kills processes, and stops those in this process. */
const ends = new Set<End>();
/**
 * Of those that were started in a test, which end with it: an idle service takes a fortieth of a core. A hook
 * that starts one must not run while tests of another suite do: their suites do not run concurrently.
 */
const endsOfTests = new Set<End>();
let runningTests = 0;

function endLater(end: End): void {
  (runningTests > 0 ? endsOfTests : ends).add(end);
}

async function endAll(all: Set<End>): Promise<void> {
  const those = [...all];
  all.clear();
  await Promise.all(those.map((end) => end()));
}

beforeEach(() => {
  runningTests += 1;
});
afterEach(async () => {
  runningTests -= 1;
  // Concurrent tests may share a service.
  if (runningTests === 0) await endAll(endsOfTests);
});
after(async () => {
  await Promise.all([endAll(endsOfTests), endAll(ends)]);
});

/** The logs of the services that the tests of this file started. */
const logs: LogLine[][] = [];
const told = 20;
addWaitContext(() =>
  logs
    .map((log, at) => {
      // A line of the audit for each topic would hide what else happens.
      const lines = log.filter(({ audit }) => audit !== true).slice(-told);
      return `\nservice ${at + 1} of ${logs.length} said last:\n${lines.map((line) => JSON.stringify(line)).join("\n")}`;
    })
    .slice(-2)
    .join(""),
);

/** The user that the services of the tests start with; it has every role. */
export const bootstrap = { user: "bootstrap", password: "correct horse battery staple" } as const;

/** A line of the service's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: number; readonly msg?: string };

/** A running service. */
export interface TestService {
  readonly log: readonly LogLine[];
  readonly url: string;
  /** Resolves when it is ready. */
  ready(): Promise<void>;
  /** Stops it. Returns 0 if it released everything. */
  stop(): Promise<number | null>;
}

/** A service in a process of its own, as its users run it. */
export interface ServiceProcess extends TestService {
  readonly process: ChildProcess;
  /** Ends it by a signal and gives its exit code (null when a signal killed it). */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Settings with names of their own for group and topics. */
export const ownNames = (): Record<string, string> => ({
  KAFKA_GROUP_ID: unique("group"),
  KAFKA_ANNOUNCEMENTS_TOPIC: unique("announcements"),
  KAFKA_DEAD_LETTER_TOPIC: unique("dead-letter"),
});

/** An environment for the program: the machine's, without any setting of ours, and these. */
export function environment(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const ours = /^(HTTP|MANAGEMENT|MONGODB|KAFKA|BOOTSTRAP|PUSH|LOG|TOPICSYNC|AUDIT|PICKER|OIDC|OTEL)_/;
  const machine = Object.entries(process.env).filter(([name]) => !ours.test(name));
  return { ...Object.fromEntries(machine), ...settings };
}

/** Completes the settings of a service, and keeps their secrets. */
function complete(settings: Readonly<Record<string, string>>): Record<string, string> {
  const all = {
    HTTP_PORT: "0",
    BOOTSTRAP_USER: bootstrap.user,
    BOOTSTRAP_PASSWORD: bootstrap.password,
    ...settings,
  };
  keepSecret(all.BOOTSTRAP_PASSWORD, settings["KAFKA_SASL_PASSWORD"]);
  return all;
}

/** The setting with which `status` finds a service on this machine. */
export const beside = ({ url }: Pick<TestService, "url">): Record<string, string> => ({
  HTTP_PORT: new URL(url).port,
});

/** Keeps the log of a service, and returns its lines and a function that adds one. */
function createLog(): { log: LogLine[]; add: (line: string) => void } {
  const log: LogLine[] = [];
  logs.push(log);
  return {
    log,
    add(line) {
      keepLog(`${line}\n`);
      // A child of a logger with a component writes both; some collectors reject such a line.
      if (line.split(',"component":').length > 2) throw new Error(`the log line has two components: ${line}`);
      log.push(JSON.parse(line) as LogLine);
    },
  };
}

/**
 * Starts a service in this process, which costs a quarter of a process of its own, and waits until it
 * listens. It is stopped after the test, or after the file if no test runs yet.
 *
 * @param embeddedBrokers - The addresses of brokers that count as embedded, if the settings have none.
 */
export async function startTopicsyncHere(
  settings: Readonly<Record<string, string>>,
  embeddedBrokers: readonly string[] = [],
): Promise<TestService> {
  // Loaded here, since most files need only a part of this module.
  const [{ startService }, { readConfig }, { createLifecycle }, { createLogger }] = await Promise.all([
    import("../../src/service/service.ts"),
    import("../../src/config/config.ts"),
    import("@topicsync/lib/lifecycle"),
    import("@topicsync/lib/logger"),
  ]);
  const config = readConfig(complete(settings));
  const { log, add } = createLog();
  const write = (lines: string): void => {
    for (const line of lines.trimEnd().split("\n")) add(line);
  };
  const logger = await createLogger(config.logLevel, { write });
  const lifecycle = createLifecycle(logger);
  const abort = new AbortController();
  const { mongodbUri = "", kafka } = config;
  const { url, ready } = await startService({
    config,
    addresses: { mongodbUri, kafkaBrokers: kafka.brokers ?? embeddedBrokers },
    log: logger,
    lifecycle,
    abort: abort.signal,
    onDied: (error) => {
      process.nextTick(() => {
        throw error;
      });
    },
  });
  // Rejects if it is stopped before. Those that wait see it, too.
  ready.catch(() => undefined);
  const stop = async (): Promise<number> => {
    abort.abort();
    await lifecycle.stop();
    return log.some(({ msg }) => msg === "release failed") ? 1 : 0;
  };
  const service = { log, url, ready: () => ready, stop };
  endLater(stop);
  return service;
}

/**
 * Starts a service in a process of its own, by default from its sources, and waits until it listens. It is
 * killed after the test, or after the file if no test runs yet.
 */
export async function startTopicsync(
  settings: Readonly<Record<string, string>>,
  program = cli,
): Promise<ServiceProcess> {
  const all = complete(settings);
  const child = spawn(process.execPath, [...nodeOptions, program, "start"], {
    env: environment(all),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  endLater(() => child.kill("SIGKILL"));

  const { log, add } = createLog();
  let errors = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    try {
      add(line);
    } catch (error) {
      // SIGKILL may cut off the last line.
      child.once("close", (_code, signal) => {
        if (signal !== "SIGKILL") throw error;
      });
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    keepLog(text);
    errors += text;
  });

  const said = (message: string): Promise<LogLine> =>
    until(`the service says "${message}"`, () => {
      const line = log.find(({ msg }) => msg === message);
      if (line === undefined && child.exitCode !== null)
        throw new Error(`the service ended with ${child.exitCode}: ${errors}`);
      return line;
    });
  const listening = await said("http server listening");

  return {
    process: child,
    log,
    url: String(listening["url"]),
    ready: async () => {
      await said("topicsync is ready");
    },
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}

/** Runs the command line to its end, in a process that this file's commands share; `start` gets its own. */
export const runCli = (
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  input = "",
): Promise<CommandEnd> =>
  runToEnd({ run: args[0] === "start" ? spawnCommand : runHostedCommand, args, settings, input });

/** Runs the command line to its end, in a process of its own. */
export const spawnCli = (
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  input = "",
): Promise<CommandEnd> => runToEnd({ run: spawnCommand, args, settings, input });

interface CliRun {
  readonly run: typeof spawnCommand;
  readonly args: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  readonly input: string;
}

async function runToEnd({ run, args, settings, input }: CliRun): Promise<CommandEnd> {
  if (args[0] === "users") keepSecret(input.split("\n", 1)[0]);
  const end = await run({ args, environment: environment(settings), input });
  keepLog(end.errors);
  // Standard output is the command's answer; the service's is its log.
  if (args[0] === "start") keepLog(end.output);
  return end;
}

/** Runs a command with `--json`, which must succeed, and parses its output. */
export async function runJson(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  input?: string,
): Promise<unknown> {
  const { code, output, errors } = await runCli([...args, "--json"], settings, input);
  assert.equal(code, 0, errors);
  return JSON.parse(output);
}

/** Adds a user by the command line; `options` such as `--role`. */
export async function addUser(
  settings: Readonly<Record<string, string>>,
  user: string,
  password: string,
  ...options: string[]
): Promise<void> {
  const { code, errors } = await runCli(["users", "add", user, ...options], settings, password);
  assert.equal(code, 0, errors);
}
