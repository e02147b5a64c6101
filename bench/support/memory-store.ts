import { join } from "node:path";

import {
  findFreePort,
  startProcess,
  waitUntilReady,
  type LaunchOptions,
  type Running,
  ping,
  findJava,
} from "@topicsync/embedded";
import { installJars } from "./maven.ts";

const version = "1.47.0";
const project = join(import.meta.dirname, "memory-store");

/**
 * A fixed heap without a concurrent collector. With Java's defaults the heap grows, and the same work took up
 * to twice as long from one round to the next.
 */
const createHeapOptions = (gigabytes: number): string[] => [
  `-Xms${gigabytes}g`,
  `-Xmx${gigabytes}g`,
  "-XX:+UseParallelGC",
  "-XX:+AlwaysPreTouch",
];

/**
 * A small young generation pauses the store ten times as often for a tenth of the time, at the same rate. The
 * default pauses of about 200 ms would dominate the p99 of every contestant.
 */
const shortPauses = ["-Xmn128m"];

export interface MemoryStoreOptions extends Omit<LaunchOptions, "port"> {
  /** Whether latency is measured, not only a rate. */
  readonly forLatency: boolean;
  /** The heap's size. */
  readonly gigabytes: number;
}

/**
 * mongo-java-server: MongoDB's protocol in memory, fast enough not to be the bottleneck. It has no
 * transactions, so it proves nothing about correctness.
 */
export async function startMemoryStore(options: MemoryStoreOptions): Promise<Running> {
  const name = `mongo-java-server ${version}`;
  const java = await findJava();
  const jars = await installJars({ name, project, properties: { "store.version": version } }, options);
  const port = await findFreePort();
  const address = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const server = await startProcess({
    command: java.command,
    args: [
      ...createHeapOptions(options.gigabytes),
      ...(options.forLatency ? shortPauses : []),
      "-cp",
      join(jars, "*"),
      join(project, "MemoryStore.java"),
      String(port),
    ],
    logFile: join(options.dataFolder, "memory-store.log"),
  });
  await waitUntilReady(server, () => ping(address), { name });
  const { pid, ended } = server;
  return { description: `${name} (in memory)`, address, pid, ended, stop: () => server.stop() };
}
