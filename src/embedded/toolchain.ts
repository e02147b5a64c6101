import { join } from "node:path";

import { getErrorMessage } from "../lib/errors.ts";
import { isAbsent, runCommand, type Finished } from "./command.ts";

/** Something that a local process needs is not on this machine; the message says what, and how to mend it. */
export class ToolMissingError extends Error {
  override readonly name = "ToolMissingError";
}

/** Why a look for a tool fails, or undefined when it succeeds. */
export async function whyMissing(look: () => Promise<unknown>): Promise<string | undefined> {
  if (process.platform === "win32") return "local processes need a POSIX shell: run topicsync under WSL";
  try {
    await look();
    return undefined;
  } catch (error) {
    return getErrorMessage(error);
  }
}

export interface Java {
  readonly command: string;
  /** As Java itself says it: `17.0.15`. */
  readonly version: string;
}

const oldestJava = 17;

/** The Java of JAVA_HOME, or else of the PATH, that is new enough for Kafka 4. Throws ToolMissingError. */
export async function findJava(): Promise<Java> {
  const home = process.env["JAVA_HOME"];
  const candidates = [...(home ? [join(home, "bin", "java")] : []), "java"];
  let tooOld: string | undefined;
  for (const command of candidates) {
    const found = await tryRun(command, ["-version"]);
    const [, version, major, minor] = /version "((\d+)(?:\.(\d+))?[^"]*)"/.exec(found?.stderr ?? "") ?? [];
    if (version === undefined) continue;
    // Up to Java 8 the versions were called 1.x.
    if (Number(major === "1" ? minor : major) >= oldestJava) return { command, version };
    tooOld = version;
  }
  throw new ToolMissingError(
    tooOld === undefined
      ? `there is no java on the PATH: install a JDK, ${oldestJava} or newer, and Maven`
      : `java is version ${tooOld}, and Kafka needs ${oldestJava} or newer: install a newer JDK, or set JAVA_HOME to it`,
  );
}

export interface Python {
  /** The interpreter itself, past any launcher script that picks it. */
  readonly command: string;
  /** Names the interpreter's binary interface; compiled packages of one do not load in another. */
  readonly abi: string;
}

const oldestPython = [3, 10] as const;
const askPython = `import sys, sysconfig
print(sys.executable, sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag, *sys.version_info[:2], sep="\\n")`;

/** The python3 of the PATH. Throws ToolMissingError. */
export async function findPython(): Promise<Python> {
  const found = await tryRun("python3", ["-c", askPython]);
  const [command, abi, major, minor] = found?.stdout.trim().split("\n") ?? [];
  const oldest = oldestPython.join(".");
  if (found?.code !== 0 || command === undefined || abi === undefined)
    throw new ToolMissingError(
      `there is no python3 on the PATH: install Python ${oldest} or newer, with pip`,
    );
  if (Number(major) !== oldestPython[0] || Number(minor) < oldestPython[1])
    throw new ToolMissingError(
      `python3 is version ${major}.${minor}, and SecantusDB needs ${oldest} or newer: install it, with pip`,
    );
  return { command, abi };
}

export interface Mongod {
  readonly command: string;
  readonly version: string;
}

const oldestMongod = [4, 2] as const;

/** The mongod of the PATH. Throws ToolMissingError. */
export async function findMongod(): Promise<Mongod> {
  const command = "mongod";
  const found = await tryRun(command, ["--version"]);
  const [, version, major, minor] = /db version v((\d+)\.(\d+)\S*)/.exec(found?.stdout ?? "") ?? [];
  const oldest = oldestMongod.join(".");
  if (version === undefined)
    throw new ToolMissingError(`there is no mongod on the PATH: install MongoDB, ${oldest} or newer`);
  if (Number(major) * 100 + Number(minor) < oldestMongod[0] * 100 + oldestMongod[1])
    throw new ToolMissingError(`mongod is version ${version}: install ${oldest} or newer`);
  return { command, version };
}

async function tryRun(command: string, args: readonly string[]): Promise<Finished | undefined> {
  try {
    return await runCommand(command, args);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
