import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { constants } from "node:os";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

import { lastLines } from "./command.ts";

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Gets all that the server prints; what an earlier server wrote there is overwritten. */
  readonly logFile: string;
}

/** A server that runs as our child and ends with us, whatever ends us. */
export interface ServerProcess {
  /** The server's own process id. */
  readonly pid: number;
  /** Resolves, in words, when it has ended for whatever reason. */
  readonly ended: Promise<string>;
  /** The last lines that it has printed. */
  readLastOutput(): Promise<string>;
  /** Asks it to end (SIGTERM), kills it after 10 s, and waits for its end. */
  stop(): Promise<void>;
}

// Node cannot make a child end when Node itself is killed by SIGKILL, so a shell stands between: it holds the other end
// of a pipe (its standard input, then descriptor 4) that only we have open for writing. When that pipe closes, because
// we ended it or because we are gone, the shell ends the server. Descriptor 3 tells us the server's process id, and its
// end: the server keeps it open, the shell does not. A background job gets /dev/null as its standard input, hence 4.
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

/** Starts a server. Throws when there is no shell to start it with; a command that fails shows in `ended`. */
export async function startProcess({ command, args, env, logFile }: ServerCommand): Promise<ServerProcess> {
  mkdirSync(dirname(logFile), { recursive: true });
  writeFileSync(logFile, "");
  const log = openSync(logFile, "a");
  // A process group of its own: Ctrl-C in a terminal must reach us alone, since we drain before the servers end.
  const shell = spawn("/bin/sh", ["-c", wrapper, "sh", command, ...args], {
    detached: true,
    stdio: ["pipe", log, log, "pipe"],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  shell.stdin?.on("error", () => undefined);
  const ended = once(shell, "close").then(() => describeEnd(shell));
  // Without this, a failure to start the shell would be reported twice: below, and as an unhandled rejection.
  ended.catch(() => undefined);
  const pid = await serverPid(shell);

  return {
    pid,
    ended,
    readLastOutput: () => readEnd(logFile),
    stop: async () => {
      shell.stdin?.end();
      await ended;
    },
  };
}

async function serverPid(shell: ChildProcess): Promise<number> {
  await once(shell, "spawn");
  const pipe = shell.stdio[3] as Readable;
  const [line] = (await once(pipe, "data")) as [Buffer];
  // Nothing else ever comes through this pipe, but it must flow for its end to be seen.
  pipe.resume();
  return Number.parseInt(line.toString(), 10);
}

function describeEnd({ exitCode, signalCode }: ChildProcess): string {
  if (signalCode !== null) return `killed by ${signalCode}`;
  // A shell reports its child's death by signal n as the exit code 128 + n.
  const signal = Object.entries(constants.signals).find(([, number]) => number + 128 === exitCode);
  return signal === undefined ? `exited with code ${exitCode ?? "unknown"}` : `killed by ${signal[0]}`;
}

const endSize = 16_384;

async function readEnd(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - endSize);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(endSize), 0, endSize, start);
    return lastLines(buffer.toString("utf8", 0, bytesRead), 40);
  } finally {
    await file.close();
  }
}

/**
 * Waits until a server is ready. Throws an Error with its last output, and leaves nothing running, when it ends first or
 * takes longer than the limit.
 */
export async function waitUntilReady(
  server: ServerProcess,
  ready: () => Promise<boolean>,
  { name, limitMs = 120_000 }: { name: string; limitMs?: number },
): Promise<void> {
  const deadline = Date.now() + limitMs;
  let failure: string | undefined;
  void server.ended.then((how) => (failure ??= how));
  while (!(await ready().catch(() => false))) {
    if (Date.now() > deadline) failure ??= `it is not ready after ${limitMs / 1000} s`;
    if (failure !== undefined) {
      await server.stop();
      throw new Error(
        `${name} did not come up: ${failure}. Its last output:\n${await server.readLastOutput()}`,
      );
    }
    await sleep(50);
  }
}
