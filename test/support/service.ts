import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { unique } from "./names.ts";
import { addWaitContext, until } from "./poll.ts";
import { keepLog, keepSecret } from "./secrets.ts";

/** The program, as its sources. */
export const cli = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

/** What the tests of this file started; whatever still runs after them is killed. */
const children = new Set<ChildProcess>();
after(() => {
  for (const child of children) child.kill("SIGKILL");
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

/** A service in a process of its own, as its users run it. */
export interface TestService {
  readonly process: ChildProcess;
  readonly log: readonly LogLine[];
  readonly url: string;
  /** Resolves when it says that it is ready. */
  ready(): Promise<void>;
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
  const ours = /^(HTTP|MONGODB|KAFKA|BOOTSTRAP|PUSH|LOG|TOPICSYNC|AUDIT|PICKER|OIDC|OTEL)_/;
  const machine = Object.entries(process.env).filter(([name]) => !ours.test(name));
  return { ...Object.fromEntries(machine), ...settings };
}

/** Starts a service, from its sources unless told otherwise, and waits until it listens. It is killed after the tests of this file. */
export async function startTopicsync(
  settings: Readonly<Record<string, string>>,
  program = cli,
): Promise<TestService> {
  const all = {
    HTTP_PORT: "0",
    BOOTSTRAP_USER: bootstrap.user,
    BOOTSTRAP_PASSWORD: bootstrap.password,
    ...settings,
  };
  keepSecret(all.BOOTSTRAP_PASSWORD, settings["KAFKA_SASL_PASSWORD"]);
  const child = spawn(process.execPath, [program, "start"], {
    env: environment(all),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  children.add(child);

  const log: LogLine[] = [];
  logs.push(log);
  let errors = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    keepLog(`${line}\n`);
    // A child of a logger with a component writes both; some collectors reject such a line.
    if (line.split(',"component":').length > 2) throw new Error(`the log line has two components: ${line}`);
    try {
      log.push(JSON.parse(line) as LogLine);
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

/** Runs the command line to its end. */
export async function runCli(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  input = "",
): Promise<{ code: number | null; output: string; errors: string }> {
  if (args[0] === "users") keepSecret(input.split("\n", 1)[0]);
  const child = spawn(process.execPath, [cli, ...args], { env: environment(settings), stdio: "pipe" });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.end(input);
  await once(child, "close");
  keepLog(errors);
  // Standard output is the command's answer; the service's is its log.
  if (args[0] === "start") keepLog(output);
  return { code: child.exitCode, output, errors };
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
