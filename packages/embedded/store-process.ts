import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { startProcess, waitUntilReady, type ServerProcess } from "./process.ts";
import { changeMemberAddress, ensurePrimary, ping } from "./replica-set.ts";
import { installSecantus, secantusVersion } from "./secantus-package.ts";
import type { Launcher, Running } from "./stack.ts";
import { localhost, withFreePort } from "./tcp-port.ts";
import { findMongod, findPython, explainMissing } from "./toolchain.ts";

/** Runs the machine's mongod as a replica set of one member, which transactions need. */
export const mongodProcess: Launcher = {
  name: "mongod process",
  findMissing: () => explainMissing(findMongod),
  start: async ({ dataFolder, port, report }) => {
    const { command, version } = await findMongod();
    const folder = join(dataFolder, "mongod");
    const data = join(folder, "data");
    await mkdir(data, { recursive: true });
    report(`starting mongod ${version}`);
    return withFreePort(port, async (port) => {
      const args = ["--bind_ip", localhost, "--port", String(port), "--dbpath", data, "--replSet", "rs0"];
      const server = await startProcess({
        command,
        args: [...args, ...createShutdownArgs(version)],
        logFile: join(folder, "mongod.log"),
      });
      const address = toUri(port);
      const member = `${localhost}:${port}`;
      const name = `mongod ${version}`;
      const prepare = async (): Promise<true> => {
        await changeMemberAddress(address, member);
        await ensurePrimary(address, { member, timeoutMs: 2_000 });
        return true;
      };
      await waitUntilReady(server, prepare, { name });
      return toRunning(server, { name, address });
    });
  },
};

/** Runs SecantusDB, which implements MongoDB's protocol, as a Python process; pip downloads it. */
export const secantusProcess: Launcher = {
  name: `SecantusDB ${secantusVersion} process`,
  findMissing: () => explainMissing(findPython),
  start: async (options) => {
    const python = await findPython();
    const packages = await installSecantus(python, options);
    const folder = join(options.dataFolder, "secantusdb");
    const data = join(folder, "data");
    const settings = join(folder, "secantusd.toml");
    await mkdir(data, { recursive: true });
    // An empty settings file, so that it does not use one in the user's home.
    await writeFile(settings, "");
    options.report(`starting SecantusDB ${secantusVersion}`);
    return withFreePort(options.port, async (port) => {
      const files = ["--config", settings, "--storage-path", data];
      const server = await startProcess({
        command: python.command,
        args: [
          join(packages, "bin", "secantusd-py"),
          ...files,
          ...["--host", localhost, "--port", String(port)],
          // Otherwise a kill can lose acknowledged transactions with any write concern.
          "--sync-on-commit",
        ],
        env: { PYTHONPATH: packages, PYTHONNOUSERSITE: "1" },
        logFile: join(folder, "secantusdb.log"),
      });
      const address = toUri(port);
      const name = `SecantusDB ${secantusVersion}`;
      await waitUntilReady(server, () => ping(address), { name });
      return toRunning(server, { name, address });
    });
  },
};

// A direct connection, since the address in the replica set's configuration may differ from the one that
// clients use.
const toUri = (port: number): string => `mongodb://${localhost}:${port}/?directConnection=true`;

function toRunning(server: ServerProcess, { name, address }: { name: string; address: string }): Running {
  const { pid, ended } = server;
  return { description: `${name} (process)`, address, pid, ended, stop: () => server.stop() };
}

/** By default, the only member waits 15 s at shutdown for another to take over. Supported from version 5. */
function createShutdownArgs(version: string): string[] {
  const supported = Number.parseInt(version, 10) >= 5;
  return supported ? ["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"] : [];
}
