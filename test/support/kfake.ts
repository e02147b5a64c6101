/** kfake, franz-go's implementation of Kafka's protocol: built once, and run as a process. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { getLastLines, isCommandMissing, runCommand, installOnce } from "@topicsync/embedded";
import { toolsFolder } from "./local.ts";

const sources = join(import.meta.dirname, "kfake");
const minMinorVersion = 26;
/** Nothing is fetched but modules. */
const goSettings = { GOTOOLCHAIN: "local" };

/** Where a partition is to be. The first replica leads. */
export interface Placement {
  readonly topic: string;
  readonly partition: number;
  readonly replicas: readonly number[];
}

export interface KfakeProcess {
  /** Of its two brokers, in the order of their ids: 0, 1. */
  readonly addresses: readonly string[];
  readonly place: (placement: Placement) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Why kfake cannot be built here; undefined if it can. */
export async function findReasonAgainstKfake(): Promise<string | undefined> {
  const need = `kfake needs Go 1.${minMinorVersion}`;
  try {
    const { stdout } = await runCommand("go", ["env", "GOVERSION"], { env: goSettings });
    const [, minor] = /^go1\.(\d+)/.exec(stdout) ?? [];
    if (!(Number(minor) >= minMinorVersion)) return `${need}, this is ${stdout.trim()}`;
    const fetched = await runCommand("go", ["mod", "download"], { cwd: sources, env: goSettings });
    if (fetched.code === 0) return undefined;
    return `its modules cannot be fetched: ${getLastLines(fetched.stderr, 1)}`;
  } catch (error) {
    if (!isCommandMissing(error)) throw error;
    return `${need}, which is not on the PATH`;
  }
}

/** Returns the program, which is built once for each state of its sources. */
async function build(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["main.go", "go.mod", "go.sum"]) hash.update(readFileSync(join(sources, file)));
  const folder = join(toolsFolder, `kfake-${hash.digest("hex").slice(0, 8)}`);
  await installOnce(folder, async (temporary) => {
    const args = ["build", "-buildvcs=false", "-o", join(temporary, "kfake")];
    const options = { cwd: sources, env: { ...goSettings, CGO_ENABLED: "0" } };
    const { code, stderr } = await runCommand("go", args, options);
    if (code !== 0) throw new Error(`kfake could not be built:\n${getLastLines(stderr, 10)}`);
  });
  return join(folder, "kfake");
}

/** Starts kfake. It ends with this process at the latest. */
export async function startKfake(): Promise<KfakeProcess> {
  const child = spawn(await build(), { stdio: ["pipe", "pipe", "inherit"] });
  // A process that ends early fails the next line that is read.
  child.stdin.on("error", () => undefined);
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  async function readLine(): Promise<string> {
    const next = await lines.next();
    if (next.done === true) throw new Error("kfake has ended");
    return next.value;
  }

  const addresses: unknown = JSON.parse(await readLine());
  if (!Array.isArray(addresses)) throw new Error("kfake did not print its addresses");
  return {
    addresses: addresses.map(String),
    // Placements are confirmed in order; scenes ask for one at a time.
    async place(placement) {
      child.stdin.write(JSON.stringify(placement));
      await readLine();
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
