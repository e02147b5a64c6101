import { fork, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { importCheapHashes } from "./cheap-hashes.ts";
import { importPatience } from "./patience.ts";

/** The program, as its sources. */
export const cli = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

/** Node's options for a process of a test: also few garbage collections while it starts. */
export const nodeOptions = [importCheapHashes, importPatience, "--min-semi-space-size=16"] as const;

/** A command, and everything that its process gets. */
export interface Command {
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly input: string;
}

/** A command for `command-host.ts`. */
export interface HostedCommand extends Command {
  readonly program: string;
  /** Where it runs; by default in the folder of the previous one. */
  readonly folder?: string;
  /** Ends both outputs; on standard output the exit code follows. */
  readonly marker: string;
}

export interface CommandEnd {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs a command in a process of its own. */
export async function spawnCommand({ args, environment, input }: Command): Promise<CommandEnd> {
  const child = spawn(process.execPath, [...nodeOptions, cli, ...args], { env: environment });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.end(input);
  await once(child, "close");
  return { code: child.exitCode, output, errors };
}

/**
 * Runs a command in a process that has run others, which takes a fifth of the computing, since the modules
 * are loaded already. If the process exits, its exit code is that of the command.
 */
export async function runHostedCommand(
  command: Command & Pick<HostedCommand, "folder">,
): Promise<CommandEnd> {
  const host = idleHosts.pop() ?? new CommandHost();
  const end = await host.run(command);
  if (host.isRunning) idleHosts.push(host);
  return end;
}

const idleHosts: CommandHost[] = [];
const hosts = new Set<CommandHost>();
after(() => {
  for (const host of hosts) host.end();
});

/** A process that runs one command at a time. */
class CommandHost {
  readonly #process: ChildProcess;
  readonly #outputs = { stdout: "", stderr: "" };
  #onOutput: () => void = () => undefined;

  constructor() {
    const host = fileURLToPath(new URL("command-host.ts", import.meta.url));
    this.#process = fork(host, { execArgv: [...nodeOptions], stdio: ["ignore", "pipe", "pipe", "ipc"] });
    hosts.add(this);
    for (const name of ["stdout", "stderr"] as const)
      this.#process[name]?.setEncoding("utf8").on("data", (text: string) => {
        this.#outputs[name] += text;
        this.#onOutput();
      });
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** It exits, and keeps what it compiled for other processes. */
  end(): void {
    if (this.#process.connected) this.#process.disconnect();
  }

  run(command: Command & Pick<HostedCommand, "folder">): Promise<CommandEnd> {
    const marker = `the end of command ${randomUUID()} `;
    const outputs = this.#outputs;
    Object.assign(outputs, { stdout: "", stderr: "" });
    return new Promise((resolve) => {
      const finish = (code: number | null): void => {
        this.#process.off("close", finish);
        this.#onOutput = () => undefined;
        const [output = "", errors = ""] = [outputs.stdout, outputs.stderr].map(
          (text) => text.split(marker)[0],
        );
        resolve({ code, output, errors });
      };
      this.#process.once("close", finish);
      this.#onOutput = () => {
        const [, code] = outputs.stdout.split(marker);
        if (code?.endsWith("\n") && outputs.stderr.endsWith(`${marker}\n`)) finish(Number(code));
      };
      this.#process.send({ ...command, program: cli, marker } satisfies HostedCommand);
    });
  }
}
