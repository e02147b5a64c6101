import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { join } from "node:path";

import { runHostedCommand } from "../../support/commands.ts";

/** The script hands a command over in files, and waits for its exit code. */
const createScript = (requests: string, port: number, typed: string): string => `#!/bin/bash
case "$1 $2" in "users add" | "users passwd") exec <'${typed}' ;; esac
request=$(mktemp -d '${requests}/XXXXXX')
printf '%s\\0' "$@" >"$request/arguments"
env -0 >"$request/environment"
cat >"$request/input"
exec 3<>/dev/tcp/127.0.0.1/${port}
printf '%s\\n' "$request" >&3
read -r code <&3
cat "$request/output"
cat "$request/errors" >&2
exit "$code"
`;

export interface HostedProgram {
  /** The folder in which its commands run. */
  readonly folder: string;
  /** The file whose lines are typed at password prompts. */
  readonly typed: string;
}

/**
 * Puts a `topicsync` into `bin` of the folder, whose commands run one after another in one process. A process
 * for each would compute five times as much. The caller closes the server.
 */
export async function startHostedProgram({ folder, typed }: HostedProgram): Promise<Server> {
  const [bin, requests] = [join(folder, "bin"), join(folder, ".requests")];
  for (const made of [bin, requests]) mkdirSync(made);

  async function serve(socket: Socket): Promise<void> {
    const [line] = (await once(socket, "data")) as [Buffer];
    const request = line.toString().trim();
    const { code, output, errors } = await runHostedCommand({
      args: readTexts(join(request, "arguments")),
      environment: Object.fromEntries(
        readTexts(join(request, "environment")).map((text) => [
          text.slice(0, text.indexOf("=")),
          text.slice(text.indexOf("=") + 1),
        ]),
      ),
      input: readFileSync(join(request, "input"), "utf8"),
      folder,
    });
    writeFileSync(join(request, "output"), output);
    writeFileSync(join(request, "errors"), errors);
    socket.end(`${code ?? 1}\n`);
  }

  const server = createServer((socket) => void serve(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(bin, "topicsync"), createScript(requests, port, typed), { mode: 0o755 });
  return server;
}

/** Reads texts that each end with a NUL. */
const readTexts = (file: string): string[] => readFileSync(file, "utf8").split("\0").slice(0, -1);
