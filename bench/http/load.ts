import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isCommandMissing, getLastLines, runCommand } from "@topicsync/embedded";
import autocannonProject from "./autocannon/package.json" with { type: "json" };
import { createRawRequest, type RequestTemplate } from "./request.ts";
import { installPackages } from "../support/npm.ts";
import { reportProgress } from "../support/report.ts";

export interface Load {
  readonly url: URL;
  readonly template: RequestTemplate;
  readonly connections: number;
  readonly seconds: number;
  /** Registered tokens to repeat; undefined sends a new token with each request. */
  readonly pool?: readonly string[];
  /** For the generator's files. */
  readonly folder: string;
}

/** Times are in ms. */
export interface LoadResult {
  readonly accepted: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Responses with an error status. */
  readonly rejected: number;
  /** No response in time. */
  readonly broken: number;
}

/** A separate program that sends registrations, with one request in flight per connection. */
export interface LoadGenerator {
  readonly name: string;
  run(load: Load): Promise<LoadResult>;
}

/** Uses wrk if it is installed, because it needs less CPU; otherwise installs autocannon. */
export async function findLoadGenerator(toolsFolder: string): Promise<LoadGenerator> {
  try {
    const { stdout, stderr } = await runCommand("wrk", ["--version"]);
    return createWrk(/^wrk \S+/.exec(stdout + stderr)?.[0] ?? "wrk");
  } catch (error) {
    if (!isCommandMissing(error)) throw error;
    return createAutocannon(toolsFolder);
  }
}

const createWrk = (name: string): LoadGenerator => ({
  name,
  async run({ url, template, connections, seconds, pool, folder }) {
    const requestFile = join(folder, "request");
    await writeFile(requestFile, createRawRequest(url, template));
    const result = await readLastLine(name, "wrk", [
      "--threads",
      "1",
      "--connections",
      String(connections),
      "--duration",
      `${seconds}s`,
      "--timeout",
      "10s",
      "--script",
      join(import.meta.dirname, "load.lua"),
      url.href,
      "--",
      requestFile,
      ...(await createTokenArguments(pool, folder)),
    ]);
    const { duration, p50, p99, max, ...counts } = result;
    const accepted = counts.requests - counts.rejected;
    return {
      accepted,
      perSecond: (1e6 * accepted) / duration,
      p50: p50 / 1e3,
      p99: p99 / 1e3,
      max: max / 1e3,
      rejected: counts.rejected,
      broken: counts.broken,
    };
  },
});

async function createTokenArguments(pool: readonly string[] | undefined, folder: string): Promise<string[]> {
  if (pool === undefined) return ["new", String(Math.floor(Math.random() * 2 ** 31))];
  const poolFile = join(folder, "pool");
  await writeFile(poolFile, pool.join("\n"));
  return ["pool", poolFile];
}

async function createAutocannon(toolsFolder: string): Promise<LoadGenerator> {
  const name = `autocannon ${autocannonProject.dependencies.autocannon}`;
  const project = join(import.meta.dirname, "autocannon");
  const packages = await installPackages({ name, project }, { toolsFolder, report: reportProgress });
  return {
    name,
    async run({ folder, ...load }) {
      const loadFile = join(folder, "load.json");
      await writeFile(loadFile, JSON.stringify(load));
      const program = join(import.meta.dirname, "autocannon.ts");
      const result = await readLastLine(name, process.execPath, [program, packages, loadFile]);
      const { requests, duration, p50, p99, max, rejected, broken } = result;
      const accepted = requests - rejected;
      return { accepted, perSecond: accepted / duration, p50, p99, max, rejected, broken };
    },
  };
}

interface Line {
  readonly requests: number;
  readonly duration: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly rejected: number;
  readonly broken: number;
}

/** Both generators end with a line of JSON. */
async function readLastLine(name: string, command: string, args: readonly string[]): Promise<Line> {
  const { code, stdout, stderr } = await runCommand(command, args);
  if (code !== 0) throw new Error(`${name} failed:\n${getLastLines(stdout + stderr, 10)}`);
  return JSON.parse(getLastLines(stdout, 1)) as Line;
}
