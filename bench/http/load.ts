import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isAbsent, lastLines, runCommand } from "../../src/embedded/command.ts";
import autocannonProject from "./autocannon/package.json" with { type: "json" };
import { rawRequest, type RequestTemplate } from "./request.ts";
import { installPackages } from "../support/npm.ts";
import { progress } from "../support/report.ts";

/** What to send, and how. */
export interface Load {
  readonly url: URL;
  readonly template: RequestTemplate;
  readonly connections: number;
  readonly seconds: number;
  /** Registered before and sent again and again; undefined sends another token with each request. */
  readonly pool?: readonly string[];
  /** For the generator's files. */
  readonly folder: string;
}

/** What came back. Times are milliseconds. */
export interface Answers {
  /** Answered with success. */
  readonly accepted: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Answered with a refusal. */
  readonly refused: number;
  /** Not answered at all, or too late. */
  readonly broken: number;
}

/**
 * A program of its own that sends registrations, each connection its next as soon as the last one is
 * answered.
 */
export interface LoadGenerator {
  /** For people. */
  readonly name: string;
  run(load: Load): Promise<Answers>;
}

/**
 * wrk where the machine has it, since it leaves the servers most of the machine; else autocannon, which npm
 * downloads.
 */
export async function findLoadGenerator(toolsFolder: string): Promise<LoadGenerator> {
  try {
    const { stdout, stderr } = await runCommand("wrk", ["--version"]);
    return wrk(/^wrk \S+/.exec(stdout + stderr)?.[0] ?? "wrk");
  } catch (error) {
    if (!isAbsent(error)) throw error;
    return autocannon(toolsFolder);
  }
}

const wrk = (name: string): LoadGenerator => ({
  name,
  async run({ url, template, connections, seconds, pool, folder }) {
    const requestFile = join(folder, "request");
    await writeFile(requestFile, rawRequest(url, template));
    const result = await readLastLine(name, "wrk", [
      ...["--threads", "1", "--connections", String(connections), "--duration", `${seconds}s`],
      ...["--timeout", "10s", "--script", join(import.meta.dirname, "load.lua"), url.href],
      ...["--", requestFile, ...(await tokens(pool, folder))],
    ]);
    const { duration, p50, p99, max, ...counts } = result;
    const accepted = counts.requests - counts.refused;
    return {
      ...{ accepted, perSecond: (1e6 * accepted) / duration },
      ...{ p50: p50 / 1e3, p99: p99 / 1e3, max: max / 1e3 },
      ...{ refused: counts.refused, broken: counts.broken },
    };
  },
});

async function tokens(pool: readonly string[] | undefined, folder: string): Promise<string[]> {
  if (pool === undefined) return ["new", String(Math.floor(Math.random() * 2 ** 31))];
  const poolFile = join(folder, "pool");
  await writeFile(poolFile, pool.join("\n"));
  return ["pool", poolFile];
}

async function autocannon(toolsFolder: string): Promise<LoadGenerator> {
  const name = `autocannon ${autocannonProject.dependencies.autocannon}`;
  const project = join(import.meta.dirname, "autocannon");
  const packages = await installPackages({ name, project }, { toolsFolder, report: progress });
  return {
    name,
    async run({ folder, ...load }) {
      const loadFile = join(folder, "load.json");
      await writeFile(loadFile, JSON.stringify(load));
      const program = join(import.meta.dirname, "autocannon.ts");
      const result = await readLastLine(name, process.execPath, [program, packages, loadFile]);
      const { requests, duration, p50, p99, max, refused, broken } = result;
      const accepted = requests - refused;
      return { accepted, perSecond: accepted / duration, p50, p99, max, refused, broken };
    },
  };
}

interface Line {
  readonly requests: number;
  readonly duration: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly refused: number;
  readonly broken: number;
}

/** Both generators end with a line of JSON. */
async function readLastLine(name: string, command: string, args: readonly string[]): Promise<Line> {
  const { code, stdout, stderr } = await runCommand(command, args);
  if (code !== 0) throw new Error(`${name} failed:\n${lastLines(stdout + stderr, 10)}`);
  return JSON.parse(lastLines(stdout, 1)) as Line;
}
