import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { constants } from "node:os";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

import { getLastLines } from "./command.ts";

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Receives the server's output; overwritten at each start. */
  readonly logFile: string;
}

/** A server that runs as a child process and always exits with its parent. */
export interface ServerProcess {
  /** The server's own process id. */
  readonly pid: number;
  /** Resolves at the exit, with a description of it. */
  readonly ended: Promise<string>;
  /** Returns the last lines of output. */
  readLastOutput(): Promise<string>;
  /** Sends SIGTERM, SIGKILL after 10 s, and waits for the exit. */
  stop(): Promise<void>;
}

// Node cannot end a child when Node itself is killed by SIGKILL, so a shell runs in between. It reads from a
// pipe (its standard input, then descriptor 4) that only the parent holds open for writing. When the pipe
// closes, because the parent closed it or exited, the shell ends the server. Descriptor 3 reports the
// server's process id, and its exit: the server keeps it open, the shell does not. A background job gets
// /dev/null as its standard input, hence descriptor 4.
const wrapper = `
exec 4<&0 </dev/null
"$@" 4<&- &
server=$!
echo "$server" >&3
exec 3>&-
(
  PATH="$PATH:/usr/bin:/bin"
  read -r _ <&4
  kill -TERM "$server"
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 1
    kill -0 "$server" || exit
  done
  kill -KILL "$server"
) >/dev/null 2>&1 &
watcher=$!
exec 4<&-
wait "$server"
status=$?
kill "$watcher"
exit "$status"
`;

/** Starts a server. Throws if there is no shell; `ended` reports a command that fails. */
export async function startProcess({ command, args, env, logFile }: ServerCommand): Promise<ServerProcess> {
  mkdirSync(dirname(logFile), { recursive: true });
  writeFileSync(logFile, "");
  const log = openSync(logFile, "a");
  // A separate process group: Ctrl-C must reach only the parent, which drains before it stops the servers.
  const shell = spawn("/bin/sh", ["-c", wrapper, "sh", command, ...args], {
    detached: true,
    stdio: ["pipe", log, log, "pipe"],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  shell.stdin?.on("error", () => undefined);
  const ended = once(shell, "close").then(() => describeExit(shell));
  // A failure to start the shell is thrown below; without this it would also be an unhandled rejection.
  ended.catch(() => undefined);
  const pid = await readServerPid(shell);

  return {
    pid,
    ended,
    readLastOutput: () => readTail(logFile),
    stop: async () => {
      shell.stdin?.end();
      await ended;
    },
  };
}

async function readServerPid(shell: ChildProcess): Promise<number> {
  await once(shell, "spawn");
  const pipe = shell.stdio[3] as Readable;
  const [line] = (await once(pipe, "data")) as [Buffer];
  // No more data follows, but the stream emits its end only while it flows.
  pipe.resume();
  return Number.parseInt(line.toString(), 10);
}

function describeExit({ exitCode, signalCode }: ChildProcess): string {
  if (signalCode !== null) return `killed by ${signalCode}`;
  // A shell reports its child's death by signal n as the exit code 128 + n.
  const signal = Object.entries(constants.signals).find(([, number]) => number + 128 === exitCode);
  return signal === undefined ? `exited with code ${exitCode ?? "unknown"}` : `killed by ${signal[0]}`;
}

const tailBytes = 16_384;

async function readTail(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - tailBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, start);
    return getLastLines(buffer.toString("utf8", 0, bytesRead), 40);
  } finally {
    await file.close();
  }
}

/**
 * Waits until a server is ready. If it exits first or exceeds the timeout, stops it and throws an Error with
 * its last output.
 */
export async function waitUntilReady(
  server: ServerProcess,
  ready: () => Promise<boolean>,
  { name, timeoutMs = 120_000 }: { name: string; timeoutMs?: number },
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let failure: string | undefined;
  void server.ended.then((how) => (failure ??= how));
  while (!(await ready().catch(() => false))) {
    if (Date.now() > deadline) failure ??= `it is not ready after ${timeoutMs / 1000} s`;
    if (failure !== undefined) {
      await server.stop();
      throw new Error(
        `${name} did not start: ${failure}. Its last output:\n${await server.readLastOutput()}`,
      );
    }
    await sleep(50);
  }
}

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
