import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { MongoClient, MongoServerError } from "mongodb";

import { localhost, withFreePort } from "./tcp-port.ts";
import { startProcess, waitUntilReady, type ServerProcess } from "./process.ts";
import { ensurePrimary } from "./replica-set.ts";
import { secantusPackage } from "./secantus-package.ts";
import type { Launcher, Running } from "./stack.ts";
import { findMongod, findPython, whyMissing } from "./toolchain.ts";
import { versions } from "./versions.ts";

/** The machine's own mongod, as a replica set of one member: there are no transactions without one. */
export const mongodProcess: Launcher = {
  name: "mongod process",
  findMissing: () => whyMissing(findMongod),
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
        args: [...args, ...quickEnd(version)],
        logFile: join(folder, "mongod.log"),
      });
      const address = uri(port);
      const member = `${localhost}:${port}`;
      const name = `mongod ${version}`;
      const serves = async (): Promise<true> => {
        await moveMember(address, member);
        await ensurePrimary(address, { member, within: 2_000 });
        return true;
      };
      await waitUntilReady(server, serves, { name });
      return running(server, { name, address });
    });
  },
};

/** SecantusDB, which speaks MongoDB's protocol, as a Python process; pip downloads it. */
export const secantusProcess: Launcher = {
  name: `SecantusDB ${versions.secantusdb} process`,
  findMissing: () => whyMissing(findPython),
  start: async (options) => {
    const python = await findPython();
    const packages = await secantusPackage(python, options);
    const folder = join(options.dataFolder, "secantusdb");
    const data = join(folder, "data");
    const settings = join(folder, "secantusd.toml");
    await mkdir(data, { recursive: true });
    // Without a settings file of ours it would look for one in the user's home.
    await writeFile(settings, "");
    options.report(`starting SecantusDB ${versions.secantusdb}`);
    return withFreePort(options.port, async (port) => {
      const files = ["--config", settings, "--storage-path", data];
      const server = await startProcess({
        command: python.command,
        args: [
          join(packages, "bin", "secantusd-py"),
          ...files,
          ...["--host", localhost, "--port", String(port)],
          // Otherwise a transaction that was acknowledged can be gone after a kill, whatever the write concern.
          "--sync-on-commit",
        ],
        env: { PYTHONPATH: packages, PYTHONNOUSERSITE: "1" },
        logFile: join(folder, "secantusdb.log"),
      });
      const address = uri(port);
      const name = `SecantusDB ${versions.secantusdb}`;
      await waitUntilReady(server, () => ping(address), { name });
      return running(server, { name, address });
    });
  },
};

// Direct, since the address that a replica set of one member tells its clients need not be the one that they use.
const uri = (port: number): string => `mongodb://${localhost}:${port}/?directConnection=true`;

function running(server: ServerProcess, { name, address }: { name: string; address: string }): Running {
  const { pid, ended } = server;
  return { description: `${name} (process)`, address, pid, ended, stop: () => server.stop() };
}

/** Whether a MongoDB answers at this address; throws when nothing does. */
export async function ping(uri: string): Promise<boolean> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 500 });
  try {
    await client.db("admin").command({ ping: 1 });
    return true;
  } finally {
    await client.close();
  }
}

/** The set was not made yet, or is one of the server's own making (it does not know the commands). */
const nothingToMove = new Set(["NotYetInitialized", "CommandNotFound"]);

/**
 * A replica set remembers its member's address. After a start on another port the member does not find itself in
 * its own set and serves nobody: it is told its new address, and forced, since it has no primary to agree.
 */
async function moveMember(uri: string, member: string): Promise<void> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 500 });
  try {
    const admin = client.db("admin");
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: ReplicaSetConfig };
    const { _id, version, members } = config;
    if (members[0]?.host === member) return;
    const moved = { _id, version: version + 1, members: [{ _id: 0, host: member }] };
    await admin.command({ replSetReconfig: moved, force: true });
  } catch (error) {
    if (!(error instanceof MongoServerError && nothingToMove.has(error.codeName ?? ""))) throw error;
  } finally {
    await client.close();
  }
}

interface ReplicaSetConfig {
  readonly _id: string;
  readonly version: number;
  readonly members: readonly { readonly host: string }[];
}

/** The last member would wait 15 s for others to take over from it. Before version 5 this setting was unknown. */
function quickEnd(version: string): string[] {
  const known = Number.parseInt(version, 10) >= 5;
  return known ? ["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"] : [];
}
